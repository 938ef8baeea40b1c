//! Parses the table that the example prints.

/// A line: the sums of a phase for a job.
pub(super) struct Row {
    pub(super) phase: String,
    pub(super) job: String,
    /// By the old lock, by the bridge, by the new lock.
    pub(super) acquired: [u64; 3],
    pub(super) doubles: u64,
    pub(super) late: u64,
    pub(super) intruded: u64,
}

/// The lines below the head, up to the empty one.
pub(super) fn rows(printed: &str) -> Vec<Row> {
    let lines = printed.lines().skip_while(|line| !line.starts_with("PHASE ")).skip(1);
    lines.take_while(|line| !line.is_empty()).map(row).collect()
}

/// How often a job's lock was acquired, and how many pieces of its work were done, from the last lines.
pub(super) fn total(printed: &str, job: &str) -> (u64, u64) {
    let line = printed.lines().find_map(|line| line.strip_prefix(job)?.strip_prefix(": acquired "));
    let (acquired, rest) = line.and_then(|line| line.split_once(" times, ")).expect("the table ends with totals");
    let done = rest.strip_suffix(" pieces of work done").expect("the line ends with the work done");
    (acquired.parse().expect("a number"), done.parse().expect("a number"))
}

/// A line of the last table: the acquisitions of a program, in all phases.
pub(super) struct Program {
    pub(super) job: String,
    pub(super) name: String,
    /// By the old lock, by the bridge, by the new lock.
    pub(super) acquired: [u64; 3],
}

/// The lines of the last table.
pub(super) fn programs(printed: &str) -> Vec<Program> {
    printed.lines().skip_while(|line| !line.starts_with(LAST_HEAD)).skip(1).map(program).collect()
}

/// How the head of the last table begins.
const LAST_HEAD: &str = "KEY ";

fn program(line: &str) -> Program {
    let cells = cells(line);
    let [job, name, old, bridge, modern] = cells[..] else { panic!("five columns: {line}") };
    let acquired = [old, bridge, modern].map(|cell| number(cell, line));
    Program { job: job.to_owned(), name: name.to_owned(), acquired }
}

fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn number(cell: &str, line: &str) -> u64 {
    cell.parse().unwrap_or_else(|_| panic!("a number: {cell} in {line}"))
}

fn row(line: &str) -> Row {
    let cells = cells(line);
    let [phase, job, old, bridge, modern, doubles, late, intruded, _wait] = cells[..] else {
        panic!("nine columns: {line}")
    };
    let number = |cell: &str| number(cell, line);
    Row {
        phase: phase.to_owned(),
        job: job.to_owned(),
        acquired: [old, bridge, modern].map(number),
        doubles: number(doubles),
        late: number(late),
        intruded: number(intruded),
    }
}

/// The table that the guide shows beneath this command has the same lines, whatever the numbers.
pub(super) fn is_as_in_the_guide(printed: &str, command: &str) {
    let is_before_programs = |line: &&str| !line.starts_with(LAST_HEAD);
    let phases = |text: &str| {
        text.lines()
            .skip_while(|line| !line.starts_with("PHASE "))
            .take_while(is_before_programs)
            .map(masked)
            .collect::<Vec<_>>()
    };
    assert_eq!(phases(in_the_guide(command)), phases(printed), "$ {command}");
}

/// And so has the last table.
pub(super) fn programs_are_as_in_the_guide(printed: &str, command: &str) {
    let programs =
        |text: &str| text.lines().skip_while(|line| !line.starts_with(LAST_HEAD)).map(masked).collect::<Vec<_>>();
    assert_eq!(programs(in_the_guide(command)), programs(printed), "$ {command}");
}

/// What the guide shows beneath this command.
fn in_the_guide(command: &str) -> &'static str {
    let guide = include_str!("../../../migration-guide.md");
    let shown = guide.split(&format!("```console\n$ {command}\n")).nth(1).expect("the guide shows it");
    shown.split("```").next().unwrap_or_default()
}

/// The line without numbers.
fn masked(line: &str) -> String {
    line.split(' ').filter(|word| !word.is_empty()).map(mask).collect::<Vec<_>>().join(" ")
}

fn mask(word: &str) -> &str {
    if word.bytes().all(|byte| byte.is_ascii_digit()) { "#" } else { word }
}
