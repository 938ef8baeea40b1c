//! The programs that workers run: real PHP and real Java where they are prepared, otherwise this library.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use redis::{ConnectionAddr, IntoConnectionInfo};

use crate::java::JavaClasses;
use crate::role::{JOBS, LEASE, Language, Role};

/// What a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// The classes of `locks.php`: the old lock, and what a service can write itself.
    OwnPhp,
    /// The package for PHP.
    PhpPackage,
    /// The published jedis-lock.
    JedisLock,
    /// The package for Java.
    JavaPackage,
    /// This library.
    Library,
}

impl Program {
    /// Its name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OwnPhp => "locks.php",
            Self::PhpPackage => "clients/php",
            Self::JedisLock => "jedis-lock",
            Self::JavaPackage => "clients/java",
            Self::Library => "lockshift",
        }
    }
}

/// The programs that can run on this machine.
pub(crate) struct Programs {
    has_php: bool,
    java: Option<JavaClasses>,
}

impl Programs {
    /// Looks for PHP, and compiles the Java workers if their libraries are prepared.
    pub(crate) fn find() -> Result<Self, Box<dyn Error>> {
        Ok(Self { has_php: has_php(), java: JavaClasses::compile()? })
    }

    /// What the worker in this place of a job runs in this role: an old worker the old lock's own code, and its
    /// replacement the package of that language, this library, or PHP of its own.
    pub(crate) fn of(&self, job: usize, place: usize, role: Role) -> Program {
        let language = JOBS[job].language;
        if role == Role::Hasty || !self.has(language) {
            return Program::Library;
        }
        let is_new = matches!(role, Role::Bridge | Role::Modern);
        match language {
            Language::Php if is_new => [Program::OwnPhp, Program::PhpPackage, Program::Library][place % 3],
            Language::Php => Program::OwnPhp,
            Language::Java if is_new => [Program::JavaPackage, Program::Library][place % 2],
            Language::Java => Program::JedisLock,
        }
    }

    fn has(&self, language: Language) -> bool {
        match language {
            Language::Php => self.has_php,
            Language::Java => self.java.is_some(),
        }
    }

    /// The command that starts this program; the number of the worker is its last argument.
    pub(crate) fn command(
        &self,
        program: Program,
        job: usize,
        role: Role,
        url: &str,
    ) -> Result<Command, Box<dyn Error>> {
        let (lease_secs, lease_ms) = (LEASE.as_secs().to_string(), LEASE.as_millis().to_string());
        let (role, key) = (role.name(), JOBS[job].key);
        let mut command;
        match (program, &self.java) {
            (Program::OwnPhp | Program::PhpPackage, _) => {
                let code = if program == Program::PhpPackage { "package" } else { "own" };
                command = Command::new("php");
                command.arg(folder().join("worker.php")).args(address(url)?).args([role, code, key, &lease_secs]);
            }
            (Program::JedisLock | Program::JavaPackage, Some(java)) => {
                command = if program == Program::JedisLock { java.old_worker() } else { java.new_worker() };
                command.args(address(url)?).args([role, key, &lease_ms]);
            }
            (Program::JedisLock | Program::JavaPackage, None) => return Err("the Java workers are not prepared".into()),
            (Program::Library, _) => {
                command = Command::new(std::env::current_exe()?);
                command.args(["worker", role, key]).env("REDIS_URL", url);
            }
        }
        Ok(command)
    }

    /// A sentence for each job: who speaks its old lock.
    pub(crate) fn describe(&self) -> String {
        let sentences = JOBS.iter().map(|job| {
            let by = match (job.language, self.has(job.language)) {
                (Language::Php, true) => "PHP itself",
                (Language::Php, false) => "this library, because PHP 8.1 with its redis extension is not installed",
                (Language::Java, true) => "Java's jedis-lock itself",
                (Language::Java, false) => {
                    "this library, because `tests/interop/prepare` was not run for jedis-lock and lockshift-jedis"
                }
            };
            format!("On {} the old lock is spoken by {by}.", job.key)
        });
        sentences.collect::<Vec<_>>().join("\n")
    }
}

/// The folder of this example.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/migration")
}

/// Host and port, as PHP and Java take them.
fn address(url: &str) -> Result<[String; 2], Box<dyn Error>> {
    let info = url.into_connection_info()?;
    let ConnectionAddr::Tcp(host, port) = info.addr() else {
        return Err("the PHP and Java workers need a plain address: redis://HOST:PORT/".into());
    };
    Ok([host.clone(), port.to_string()])
}

/// Whether `php` and its redis extension are installed.
fn has_php() -> bool {
    let mut php = Command::new("php");
    php.args(["-r", "exit(PHP_VERSION_ID >= 80100 && extension_loaded('redis') ? 0 : 1);"]);
    php.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
