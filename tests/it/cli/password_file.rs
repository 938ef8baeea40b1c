//! `--password-file`: each connection logs in with the password that is in the file when it is opened.

use std::fs;
use std::path::PathBuf;

use redis::{Connection, cmd};
use tempfile::TempDir;

use super::command::{Done, Running, appears, lockshift};
use crate::patience::{now, until};
use crate::server::{Options, Server};

/// A command under a lock with a lease of three seconds, on a server that wants the password in a file.
struct LockedRun {
    server: Server,
    folder: TempDir,
    admin: Connection,
    running: Running,
}

impl LockedRun {
    /// Starts it and waits until it holds the lock.
    fn start() -> Self {
        let server = Server::with(&Options::new().password("before"));
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("password"), "before\n").unwrap();
        let mut command = lockshift();
        command.current_dir(folder.path());
        let url = format!("redis://{}/", server.address());
        let run = ["run", "stock", "--lease", "3s", "--redis", &url, "--password-file", "password", "--"];
        let script = "touch started; while [ ! -e go ]; do sleep 0.05; done";
        let running = Running::start(command, run.into_iter().chain(["sh", "-c", script]));
        appears(&folder.path().join("started"));
        let admin = server.connect();
        Self { server, folder, admin, running }
    }

    fn password(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    /// Ends its connections, and lets the command end two leases later; the lock is there all the time.
    fn goes_on_without_its_connections(mut self) -> Done {
        let held = |admin: &mut Connection| cmd("GET").arg("stock").query::<Option<String>>(admin).unwrap();
        let token = held(&mut self.admin).expect("it holds");
        let killed: u64 = cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").query(&mut self.admin).unwrap();
        assert!(killed >= 1, "{}", self.server.url());
        let began = now();
        until("two leases have passed", || {
            assert_eq!(held(&mut self.admin).as_ref(), Some(&token), "it is renewed");
            (began.elapsed().as_millis() > 6000).then_some(())
        });
        fs::write(self.folder.path().join("go"), "").unwrap();
        self.running.done()
    }
}

#[test]
fn a_password_that_was_replaced_is_read_again() {
    let mut run = LockedRun::start();
    cmd("CONFIG").arg("SET").arg("requirepass").arg("after").exec(&mut run.admin).unwrap();
    fs::write(run.password(), "after\n").unwrap();
    let ended = run.goes_on_without_its_connections();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("password"), "{ended:?}");
}

#[test]
fn without_its_file_the_password_stays_with_a_warning() {
    let run = LockedRun::start();
    fs::remove_file(run.password()).unwrap();
    let ended = run.goes_on_without_its_connections();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("cannot read `password`: "), "{ended:?}");
    assert!(ended.stderr.contains("using the password that was read before"), "{ended:?}");
}
