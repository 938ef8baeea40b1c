//! What a team without Rust installs and writes in a phase: the packages in `clients/`, and the lines of their READMEs. No registry
//! has the packages: they are installed from a copy of the repository.

use serde::Serialize;

use crate::plan::Phase;

/// A language that has a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(&'static LanguageRow);

/// A package.
#[derive(Debug, PartialEq, Eq)]
struct LanguageRow {
    name: &'static str,
    /// The command, as the README has it; of several, each behind `&&`.
    install: &'static str,
    quote: char,
    /// Lines with `{fleet}` for the quoted dialects.
    bridge: &'static [&'static str],
    token: &'static [&'static str],
}

/// All of them.
const ROWS: [LanguageRow; 4] = [
    LanguageRow {
        name: "php",
        install: "composer config repositories.lockshift path ../lockshift/clients/php && composer require lockshift/lockshift:@dev",
        quote: '\'',
        bridge: &[
            "$bridge = new BridgeLock($redis, 'invoices', lease: 30, dialects: [{fleet}]);",
            "$bridge->with(10, function (Hold $hold) {",
            "    firstStep();",
            "    $hold->extend();",
            "    secondStep();",
            "});",
        ],
        token: &[
            "$token = new TokenLock($redis, Fleet::newKey('invoices'), lease: 30);",
            "if ($hold = $token->tryAcquire()) {",
            "    $hold->release();",
            "}",
        ],
    },
    LanguageRow {
        name: "java",
        install: "mvn --file clients/java install -DskipTests",
        quote: '"',
        bridge: &[
            "BridgeLock bridge = new BridgeLock(redis, \"invoices\", Duration.ofSeconds(30), {fleet});",
            "Optional<Hold> acquired = bridge.acquire(Duration.ofSeconds(10));",
            "if (acquired.isPresent()) {",
            "    try (Hold hold = acquired.get().keepAlive()) {",
            "        work();",
            "    }",
            "}",
        ],
        token: &["TokenLock token = new TokenLock(redis, BridgeLock.newKey(\"invoices\"), Duration.ofSeconds(30));"],
    },
    LanguageRow {
        name: "python",
        install: "pip install ./clients/python",
        quote: '"',
        bridge: &[
            "bridge = BridgeLock(client, \"invoices\", lease=30, dialects=[{fleet}])",
            "with bridge.held(timeout=10) as hold:",
            "    work()",
        ],
        token: &[
            "token = TokenLock(client, new_key(\"invoices\"), lease=30)",
            "hold = token.try_acquire()",
            "if hold:",
            "    hold.release()",
        ],
    },
    LanguageRow {
        name: "node",
        install: "npm install ../lockshift/clients/node ioredis",
        quote: '\'',
        bridge: &[
            "const bridge = new BridgeLock(client, 'invoices', 30_000, [{fleet}]);",
            "await bridge.with(10_000, async (hold) => {",
            "  await work({ signal: hold.signal });",
            "});",
        ],
        token: &[
            "const token = new TokenLock(client, newKey('invoices'), 30_000);",
            "const hold = await token.tryAcquire();",
            "if (hold) await hold.release();",
        ],
    },
];

/// What to install and to write: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LanguageLines {
    pub(super) language: &'static str,
    pub(super) install: &'static str,
    pub(super) lines: Vec<String>,
}

impl Language {
    /// The names of all.
    pub fn names() -> Vec<&'static str> {
        ROWS.iter().map(|row| row.name).collect()
    }

    /// The language of this name.
    pub fn find(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(Self)
    }

    /// What to write in a phase of this fleet; nothing where the phase deploys no further kind of client.
    pub(super) fn written(self, phase: Phase, fleet: &[&str]) -> Option<LanguageLines> {
        let Self(row) = self;
        let lines = match phase {
            Phase::LegacyAndBridge => row.bridge,
            Phase::BridgeAndModern | Phase::GuardAndModern => row.token,
            Phase::Legacy
            | Phase::Bridge
            | Phase::LegacyObserved
            | Phase::LegacyAndGuard
            | Phase::Guard
            | Phase::Modern => return None,
        };
        let quote = row.quote;
        let fleet: Vec<_> = fleet.iter().map(|dialect| format!("{quote}{dialect}{quote}")).collect();
        let lines = lines.iter().map(|line| line.replace("{fleet}", &fleet.join(", "))).collect();
        Some(LanguageLines { language: row.name, install: row.install, lines })
    }
}

#[test]
fn the_lines_to_write_are_those_of_the_packages_own_examples() {
    for name in Language::names() {
        let language = Language::find(name).expect("it is one of them");
        let readme = format!("{}/clients/{name}/README.md", env!("CARGO_MANIFEST_DIR"));
        let Ok(readme) = std::fs::read_to_string(readme) else { panic!("clients/{name} has no README.md") };
        for phase in [Phase::LegacyAndBridge, Phase::BridgeAndModern] {
            let is_known = |command: &str| readme.contains(command);
            assert!(language.0.install.split(" && ").all(is_known), "clients/{name}/README.md: {}", language.0.install);
            let written = language.written(phase, &["php-getset"]).expect("the phase deploys something");
            let strange: Vec<_> = written.lines.iter().filter(|line| !readme.contains(*line)).collect();
            assert!(strange.is_empty(), "clients/{name}/README.md has no {strange:?}");
            let text = written.lines.concat();
            let count = |sign: char| text.matches(sign).count();
            let is_whole = count('(') == count(')') && count('{') == count('}') && !text.ends_with(':');
            assert!(is_whole, "{name}: what begins ends: {:#?}", written.lines);
        }
        assert!(
            [Phase::Legacy, Phase::Bridge, Phase::Modern].iter().all(|phase| language.written(*phase, &[]).is_none())
        );
    }
}
