//! The phases of the migration, in order, and the table that is printed.

use std::error::Error;
use std::io::Write;

use crate::crew::{Crew, PER_JOB};
use crate::role::{JOBS, Job, Role};
use crate::statistics::Sum;

/// One phase.
pub(crate) struct Phase {
    name: &'static str,
    /// The role that replaces half of the crew; `None` if all stay.
    half: Option<Role>,
    /// The role of all workers at the end of the phase.
    then: Role,
}

/// From the old locks to the new one, with two steps back.
pub(crate) const WHOLE_MIGRATION: [Phase; 9] = [
    Phase { name: "legacy", half: None, then: Role::Old },
    Phase { name: "legacy + bridge", half: Some(Role::Bridge), then: Role::Old },
    Phase { name: "legacy", half: None, then: Role::Old },
    Phase { name: "legacy + bridge", half: Some(Role::Bridge), then: Role::Bridge },
    Phase { name: "bridge", half: None, then: Role::Bridge },
    Phase { name: "bridge + modern", half: Some(Role::Modern), then: Role::Bridge },
    Phase { name: "bridge", half: None, then: Role::Bridge },
    Phase { name: "bridge + modern", half: Some(Role::Modern), then: Role::Modern },
    Phase { name: "modern", half: None, then: Role::Modern },
];

/// From the old locks to the new one behind a guard, with a step back.
pub(crate) const BEHIND_GUARD: [Phase; 6] = [
    Phase { name: "legacy", half: None, then: Role::Old },
    Phase { name: "legacy + guard", half: Some(Role::Guarded), then: Role::Guarded },
    Phase { name: "guard", half: None, then: Role::Guarded },
    Phase { name: "guard + modern", half: Some(Role::Modern), then: Role::Guarded },
    Phase { name: "guard + modern", half: Some(Role::Modern), then: Role::Modern },
    Phase { name: "modern", half: None, then: Role::Modern },
];

/// What happens without a bridge.
pub(crate) const WITHOUT_BRIDGE: [Phase; 2] = [
    Phase { name: "legacy", half: None, then: Role::Old },
    Phase { name: "legacy + token", half: Some(Role::Hasty), then: Role::Hasty },
];

/// Runs the phases and prints a line for each phase and job.
pub(crate) fn walk(phases: &[Phase], mut crew: Crew, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "{} processes.\n{}\n", JOBS.len() * PER_JOB, crew.programs.describe())?;
    writeln!(out, "{}", head(crew.second_role()))?;
    crew.start(Role::Old)?;
    for phase in phases {
        pass(phase, &mut crew)?;
        let lines = crew.statistics.end_phase();
        let is_broken = lines.values().any(|sum| sum.doubles > 0);
        for (job, sum) in lines {
            writeln!(out, "{}", line(phase.name, JOBS[job].key, &sum))?;
        }
        if is_broken {
            break;
        }
    }
    conclude(&mut crew, out)
}

/// Runs one phase: replaces half of the crew, lets every worker acquire several times, then replaces the rest.
fn pass(phase: &Phase, crew: &mut Crew) -> Result<(), Box<dyn Error>> {
    let Some(role) = phase.half else { return crew.dwell() };
    crew.replace(0..PER_JOB / 2, role)?;
    match role {
        Role::Hasty => crew.until_it_breaks(),
        Role::Old | Role::Guarded | Role::Bridge | Role::Modern if phase.then == role => {
            crew.dwell()?;
            crew.replace(PER_JOB / 2..PER_JOB, role)
        }
        Role::Old | Role::Guarded | Role::Bridge | Role::Modern => {
            crew.dwell()?;
            crew.replace(0..PER_JOB / 2, phase.then)
        }
    }
}

/// Compares the number of acquisitions with the work that was done, and prints which programs acquired.
fn conclude(crew: &mut Crew, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let done = crew.stop()?;
    writeln!(out)?;
    let mut broken = 0;
    for (job, done) in done.into_iter().enumerate() {
        let (acquired, doubles) = crew
            .statistics
            .by_program(job)
            .fold((0, 0), |(acquired, doubles), (_, sum)| (acquired + sum.acquired(), doubles + sum.doubles));
        writeln!(out, "{}: acquired {acquired} times, {done} pieces of work done", JOBS[job].key)?;
        broken += doubles + acquired.abs_diff(done);
    }
    writeln!(out, "\nKEY               PROGRAM        OLD  {:>6}  MODERN", crew.second_role())?;
    for (job, Job { key, .. }) in JOBS.iter().enumerate() {
        for (program, Sum { old, second, modern, .. }) in crew.statistics.by_program(job) {
            writeln!(out, "{key:<16}  {:<12}  {old:>4}  {second:>6}  {modern:>6}", program.name())?;
        }
    }
    (broken == 0).then_some(()).ok_or_else(|| "two workers held a lock at once".into())
}

/// The head of the table, whose second role has this name.
fn head(second: &str) -> String {
    format!("PHASE            KEY               OLD  {second:>6}  MODERN  DOUBLE HOLDS  LATE  INTRUDED  LONGEST WAIT")
}

fn line(phase: &str, key: &str, sum: &Sum) -> String {
    let Sum { old, second, modern, doubles, late, intruded, longest_wait_ms } = sum;
    format!(
        "{phase:<15}  {key:<16}  {old:>3}  {second:>6}  {modern:>6}  {doubles:>12}  {late:>4}  {intruded:>8}  \
         {longest_wait_ms:>9} ms"
    )
}
