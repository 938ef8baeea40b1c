//! SPIN goes through exported scenes by its own rules: the same states, the same verdict, the same shortest length.

use std::path::Path;
use std::process::Command;

use crate::cli::command::{done, lockshift};

/// What SPIN finds in a model.
struct Found {
    states: usize,
    errors: usize,
}

/// Runs a model, in which a schedule has at most so many steps.
fn check(model: &str, steps: Option<usize>) -> Found {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scene.pml"), model).unwrap();
    let bound = steps.map(|steps| format!("-DSTEPS={steps}"));
    call(folder.path(), Command::new("spin").args(bound).args(["-a", "scene.pml"]));
    let options = ["-O0", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=2048", "-w", "-o", "pan", "pan.c"];
    call(folder.path(), Command::new("cc").args(options));
    let output = call(folder.path(), Command::new(folder.path().join("pan")).args(["-c0", "-m1000000"]));
    let stored = output.lines().find_map(|line| line.trim().strip_suffix("states, stored"));
    let errors = output.lines().find_map(|line| line.split_once("errors: ")).map(|(_, errors)| errors);
    let parsed = |number: Option<&str>| number.and_then(|number| number.trim().parse().ok());
    let (Some(states), Some(errors)) = (parsed(stored), parsed(errors)) else { panic!("pan says:\n{output}") };
    Found { states, errors }
}

/// What a program prints; it must be there: nothing is skipped.
fn call(folder: &Path, command: &mut Command) -> String {
    let output = command.current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?} (these tests need spin and cc): {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

fn exported(args: &[&'static str]) -> String {
    let ended = done(lockshift(), [&["explore", "--export=promela"], args].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
    ended.stdout
}

/// How many states lockshift counts, as the model says.
fn counted(model: &str) -> usize {
    let line = model.lines().find_map(|line| line.strip_prefix(" * lockshift counts ")).expect("the model says so");
    line.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// SPIN has one state more: that before the clients are there.
#[test]
fn spin_counts_the_same_states_of_the_token_lock_and_finds_no_violation() {
    let faults = ["--ticks=2", "--crashes=1", "--lost-replies=1", "--lost-requests=1"];
    let model = exported(&[&["--client=token", "--client=token"][..], &faults].concat());
    let found = check(&model, None);
    assert_eq!((found.states, found.errors), (counted(&model) + 1, 0));
}

#[test]
fn spin_breaks_the_stamp_lock_in_as_many_steps() {
    let clients = ["--client=php-getset", "--client=php-getset,skew=4", "--ticks=0"];
    let model = exported(&clients);
    let found = check(&model, None);
    assert!(found.errors > 0, "a clock that is ahead steals the lock");
    assert_eq!(found.states, counted(&model) + 1);

    let rule = ["--rule=mutual-exclusion", "--json"];
    let ours = done(lockshift(), [&["explore"], &clients[..], &rule].concat()).json();
    let shortest = usize::try_from(ours["violations"][0]["steps"].as_u64().unwrap()).unwrap();
    assert_eq!(check(&model, Some(shortest - 1)).errors, 0, "no schedule of {} steps", shortest - 1);
    assert!(check(&model, Some(shortest)).errors > 0, "a schedule of {shortest} steps");
}

#[test]
fn what_a_model_cannot_express_is_refused() {
    for (args, why) in [
        (&["--client=token", "--ticks=forever"][..], "a clock that never ends"),
        (&["--client=token", "--grain=coarse"], "only steps of the fine grain"),
        (&["--client=token", "--failovers=1"], "of all faults, only"),
        (&["--client=redlock,servers=3"], "on several servers"),
        (&["--client=semaphore,permits=2"], "that several clients may hold"),
        (&["--client=token", "--client=token", "--states=10"], "more states than may be seen"),
    ] {
        let refused = done(lockshift(), [&["explore", "--export=promela"], args].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
    }
}
