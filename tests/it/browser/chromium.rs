//! Chromium without a window, a fresh profile for every visit. It must be there: nothing is skipped.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A browser on a busy machine is slow to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// Names under which Chromium and its kin are installed.
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// No update, no first-run page, no telephone call home.
const QUIET: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// A browser that was found.
pub(super) struct Chromium(PathBuf);

/// How a page is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) is_dark: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 1200, height: 900, is_dark: false }
    }
}

impl Chromium {
    /// The browser of this machine: `CHROME`, or one in the path.
    pub(super) fn start() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let anywhere = || env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
        let found = env::var_os("CHROME").map(PathBuf::from).or_else(|| anywhere().find(|file| file.is_file()));
        Self(found.expect("these tests need Chromium or Chrome: install one, or name it in the variable CHROME"))
    }

    /// Opens a page and runs a script in it, as a visitor's hands and eyes: what the script returns.
    pub(super) fn visit(&self, page: &str, script: &str) -> Value {
        const BEGINS: &str = "<script type=\"application/json\" id=\"seen\">";
        let visitor = format!(
            "<script>(async () => {{ {script} }})().catch((error) => ({{ error: `${{error}}` }})).then((seen) => {{
                const note = document.createElement('script');
                note.type = 'application/json';
                note.id = 'seen';
                note.textContent = JSON.stringify(seen);
                document.body.append(note);
            }});</script>"
        );
        let dom =
            self.run(&(page.to_owned() + &visitor), &["--dump-dom", "--virtual-time-budget=60000"], Look::default());
        let dom = String::from_utf8(dom).expect("a document is text");
        let seen = dom.rsplit_once(BEGINS).and_then(|(_, rest)| rest.split_once("</script>"));
        let (seen, _) = seen.unwrap_or_else(|| panic!("the visitor has left no note in {dom}"));
        serde_json::from_str(seen).unwrap_or_else(|error| panic!("{error}: {seen}"))
    }

    /// What a page looks like.
    pub(super) fn picture(&self, page: &str, look: Look) -> Picture {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("picture.png");
        self.run(page, &[&format!("--screenshot={}", file.display())], look);
        Picture::read(&file)
    }

    /// Runs it to its end: its standard output.
    fn run(&self, page: &str, args: &[&str], look: Look) -> Vec<u8> {
        let home = TempDir::with_prefix("lockshift-chromium-").expect("a temporary directory");
        let file = home.path().join("page.html");
        fs::write(&file, page).expect("the directory is ours");
        let mut command = Command::new(&self.0);
        command
            .args(QUIET)
            .args(args)
            .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!look.is_dark)));
        command.arg(format!("--window-size={},{}", look.width, look.height));
        command.arg(format!("--user-data-dir={}", home.path().join("profile").display()));
        command.arg(format!("file://{}", file.display()));
        let ended = assert_cmd::Command::from_std(command).timeout(PATIENCE).output().expect("the browser runs");
        assert!(ended.status.success(), "{:?}: {}", self.0, String::from_utf8_lossy(&ended.stderr));
        ended.stdout
    }
}

/// A picture of a page.
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Red, green, blue.
    colours: Vec<[u8; 3]>,
}

impl Picture {
    fn read(file: &Path) -> Self {
        let file = fs::File::open(file).expect("the browser has taken a picture");
        let mut decoder = png::Decoder::new(std::io::BufReader::new(file));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("it is a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a picture that fits into memory")];
        let frame = reader.next_frame(&mut bytes).expect("it is whole");
        let samples = frame.color_type.samples();
        assert!(samples >= 3, "it has colours");
        let colours = bytes[..frame.buffer_size()].chunks_exact(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]);
        Self { width: frame.width, height: frame.height, colours: colours.collect() }
    }

    /// How many pixels have exactly this colour.
    pub(super) fn count(&self, colour: [u8; 3]) -> usize {
        self.colours.iter().filter(|pixel| **pixel == colour).count()
    }

    /// How many there are.
    pub(super) fn pixels(&self) -> usize {
        self.colours.len()
    }
}
