//! What requests are sent to: the server, the guard, and other proxies before the same server.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lockshift::driver::host;
use redis::{Client, ConnectionAddr};
use tempfile::TempDir;

/// Something that answers as the server does.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) is_server: bool,
    pub(crate) is_guard: bool,
    /// Its process, which ends with it.
    pub(crate) process: Option<Child>,
    _files: Option<TempDir>,
}

impl Drop for Side {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The server first, the guard in two modes, and each proxy that is installed.
pub(crate) fn started(client: &Client) -> Vec<Side> {
    let ConnectionAddr::Tcp(_, port) = client.get_connection_info().addr() else { panic!("it listens on TCP") };
    let server = Side { name: "direct", port: *port, is_server: true, is_guard: false, process: None, _files: None };
    let others = [haproxy(*port), nutcracker(*port)];
    let guards = [guard("guard", "protect", *port), guard("guard, observing", "observe", *port)];
    std::iter::once(server).chain(guards).chain(others.into_iter().flatten()).collect()
}

fn guard(name: &'static str, mode: &str, server: u16) -> Side {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.args(["guard", "--listen", "127.0.0.1:0", "--guard", "lock:*=php-getset", "--mode", mode]);
    command.arg("--redis").arg(format!("redis://127.0.0.1:{server}/"));
    let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it was built");
    let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let first = lines.next().expect("it says where it listens");
    let port = first.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_else(|| panic!("{first}"));
    std::thread::spawn(move || lines.for_each(|line| eprintln!("{line}")));
    Side { name, port, is_server: false, is_guard: true, process: Some(process), _files: None }
}

fn haproxy(server: u16) -> Option<Side> {
    let config = |port| {
        format!(
            "global\n  nbthread 2\n  maxconn 1000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  \
             timeout server 1h\nlisten redis\n  bind 127.0.0.1:{port}\n  server one 127.0.0.1:{server}\n"
        )
    };
    other("HAProxy", "haproxy", &["-db", "-f"], config)
}

fn nutcracker(server: u16) -> Option<Side> {
    let config = |port| {
        format!(
            "redis:\n  listen: 127.0.0.1:{port}\n  redis: true\n  hash: fnv1a_64\n  servers:\n   - 127.0.0.1:{server}:1\n"
        )
    };
    other("nutcracker", "nutcracker", &["-c"], config)
}

/// A proxy of another project, with this configuration; `None` if it is not installed.
fn other(name: &'static str, program: &str, args: &[&str], config: impl Fn(u16) -> String) -> Option<Side> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port is free").port();
    let files = TempDir::new().expect("a directory for its configuration");
    let path = files.path().join("config");
    std::fs::write(&path, config(port)).expect("the directory is ours");
    let mut command = Command::new(program);
    command.args(args).arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).current_dir(files.path());
    let Ok(mut process) = command.spawn() else {
        eprintln!("{program} is not installed, and not measured");
        return None;
    };
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if let Some(status) = process.try_wait().expect("the child is ours") {
            panic!("{program} ended with {status} before it listened");
        }
        host::sleep(Duration::from_millis(10));
    }
    Some(Side { name, port, is_server: false, is_guard: false, process: Some(process), _files: Some(files) })
}
