//! A scene as a model in Promela, the language of SPIN.
//!
//! The clients and the server are tables, made by the protocols and the server themselves; the interleaving, the clock, the
//! faults and mutual exclusion are Promela. So SPIN checks the search, and not the protocols.

use crate::explore::{Automata, Input, Next, Request};

/// The model of these automata.
pub(crate) fn promela(automata: &Automata) -> String {
    let mut model = head(automata);
    model += &look(automata);
    model += &tell(automata);
    model += &ask(automata);
    model += &believe(automata);
    model + SCENE
}

fn head(automata: &Automata) -> String {
    let Automata { protocols, bounds, states, server_start, client_starts, .. } = automata;
    let faults = bounds.faults;
    let starts = client_starts.iter().enumerate().map(|(who, start)| format!("    actor[{who}] = {start};\n"));
    format!(
        "/*\n * lockshift explore --export promela: {}; {} ticks.\n *\n * \
         The states of each client and of the server are numbers. What follows from a state was found by running the\n * \
         protocols and the simulated server. SPIN does the rest: whose turn it is, when the clock ticks, what goes wrong,\n * \
         and whether two clients believe at once that they hold the lock.\n *\n * \
         spin -a scene.pml && cc -O1 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -c0 -m1000000\n *\n * \
         lockshift counts {states} states. With -DSTEPS=N (of spin) a schedule has at most N steps: the least N with an\n * \
         error is the length of a shortest schedule that breaks mutual exclusion.\n */\n\n\
         #define CLIENTS {}\n#define TICKS {}\n\n\
         int node = {server_start};\nint actor[CLIENTS];\nbyte tick = 0;\n\
         byte crashes = {};\nbyte lost_replies = {};\nbyte lost_requests = {};\n\
         #ifdef STEPS\nbyte steps = 0;\n#endif\n\n\
         /* What a client does next. */\n#define NOTHING 0\n#define READ 1\n#define SEND 2\n#define PROCEED 3\n#define RECEIVE 4\n\
         /* What happens. */\n#define STEP 1\n#define CRASH 2\n#define LOSE_REPLY 3\n#define LOSE_REQUEST 4\n#define TICK 5\n\
         /* What a client is given. */\n#define CLOCK 1\n#define REPLY 2\n#define GO_ON 3\n#define LOST 4\n#define DIES 5\n\
         /* What the server is asked. */\n#define COMMAND 1\n#define DISCONNECT 2\n#define ELAPSE 3\n\n\
         /* Scratch: 0 between two steps. */\n\
         byte what, me, next, input, request, believers;\nint command, value, reply, until;\nbool moved;\n\n\
         inline begin() {{\n{}}}\n\n",
        protocols.join(", "),
        bounds.ticks,
        protocols.len(),
        bounds.ticks,
        faults.crashes,
        faults.lost_replies,
        faults.lost_requests,
        starts.collect::<String>(),
    )
}

/// A choice by client and by state, each with its own statements.
fn by_state(automata: &Automata, name: &str, purpose: &str, statements: impl Fn(usize, usize) -> String) -> String {
    let mut text = format!("/* {purpose} */\ninline {name}() {{\n    if\n");
    for (who, states) in automata.clients.iter().enumerate() {
        text += &format!("    :: me == {who} ->\n        if\n");
        for (place, state) in states.iter().enumerate() {
            let statements = statements(who, place);
            if !statements.is_empty() {
                text += &format!("        :: actor[{who}] == {} -> {statements}\n", state.number);
            }
        }
        text += "        :: else -> skip\n        fi\n";
    }
    text + "    fi\n}\n\n"
}

fn look(automata: &Automata) -> String {
    by_state(automata, "look", "What the client does next.", |who, place| {
        let view = &automata.clients[who][place].view;
        let (next, why) = match view.next {
            Next::Nothing | Next::Write | Next::Round(_) => return String::new(),
            Next::ReadClock => ("next = READ".to_owned(), "reads its clock".to_owned()),
            Next::Send(command) => {
                let text = automata.commands[command as usize].to_string();
                (format!("next = SEND; command = {command}"), text)
            }
            Next::Receive => ("next = RECEIVE".to_owned(), "receives the reply".to_owned()),
            Next::Conclude => ("next = PROCEED".to_owned(), "ends what needs no reply".to_owned()),
        };
        let comment = format!("/* {} */", why.replace("*/", "* /"));
        format!("{next} {comment}")
    })
}

fn tell(automata: &Automata) -> String {
    by_state(automata, "tell", "The client after an input.", |who, place| {
        let inputs = &automata.clients[who][place].inputs;
        if inputs.is_empty() {
            return String::new();
        }
        let option = |(input, after): &(Input<u32>, u32)| {
            let (kind, value) = match input {
                Input::Clock(tick) => ("CLOCK", u32::from(*tick)),
                Input::Reply(reply) => ("REPLY", *reply),
                Input::Proceed(tick) => ("GO_ON", u32::from(*tick)),
                Input::ReplyLost(tick) => ("LOST", u32::from(*tick)),
                Input::Crash => ("DIES", 0),
                _ => return String::new(),
            };
            format!("\n            :: input == {kind} && value == {value} -> actor[{who}] = {after}")
        };
        format!("if{}\n            fi", inputs.iter().map(option).collect::<String>())
    })
}

fn ask(automata: &Automata) -> String {
    let mut text = "/* The server after a request, and its reply. */\ninline ask() {\n    if\n".to_owned();
    for (node, rules) in automata.server.iter().enumerate().filter(|(_, rules)| !rules.is_empty()) {
        text += &format!("    :: node == {node} ->\n        if\n");
        for (request, after, reply) in rules {
            let asked = match request {
                Request::Command(who, command, tick) => {
                    format!("request == COMMAND && me == {who} && command == {command} && tick == {tick}")
                }
                Request::Disconnect(who) => format!("request == DISCONNECT && me == {who}"),
                Request::Elapse(tick) => format!("request == ELAPSE && tick == {tick}"),
                _ => continue,
            };
            text += &format!("        :: {asked} -> node = {after}; reply = {reply}\n");
        }
        text += "        fi\n";
    }
    text + "    fi\n}\n\n"
}

fn believe(automata: &Automata) -> String {
    let purpose = "Until when the client believes that it holds; 0: it does not.";
    by_state(automata, "believe", purpose, |who, place| match automata.clients[who][place].view.believes_until {
        0 => String::new(),
        until => format!("until = {until}"),
    })
}

/// The rules by which a scene changes.
const SCENE: &str = "\
inline decide() {
    if
    :: what == TICK -> tick++; request = ELAPSE; moved = true
    :: else ->
        look();
        if
        :: what == CRASH && next != NOTHING -> crashes--; request = DISCONNECT; input = DIES
        :: what == STEP && next == READ -> input = CLOCK; value = tick
        :: what == STEP && (next == RECEIVE || next == PROCEED) -> input = GO_ON; value = tick
        :: what == STEP && next == SEND -> request = COMMAND; input = REPLY
        :: what == LOSE_REPLY && next == RECEIVE -> lost_replies--; request = DISCONNECT; input = LOST; value = tick
        :: what == LOSE_REQUEST && next == SEND -> lost_requests--; request = DISCONNECT; input = LOST; value = tick
        :: else -> skip
        fi;
        moved = input != 0
    fi
}

inline judge() {
    me = 0;
    do
    :: me < CLIENTS ->
        until = 0;
        believe();
        if
        :: until > tick -> believers++
        :: else -> skip
        fi;
        me++
    :: else -> break
    od;
    assert(believers < 2)
}

inline forget() {
    what = 0; me = 0; next = 0; input = 0; request = 0; believers = 0;
    command = 0; value = 0; reply = 0; until = 0; moved = false
}

active proctype scene() {
    d_step { begin() };
end:
    do
    :: atomic {
#ifdef STEPS
        steps < STEPS;
#endif
        if
        :: what = STEP
        :: crashes > 0 -> what = CRASH
        :: lost_replies > 0 -> what = LOSE_REPLY
        :: lost_requests > 0 -> what = LOSE_REQUEST
        :: tick < TICKS -> what = TICK
        fi;
        if
        :: what != TICK -> select (me : 0 .. CLIENTS - 1)
        :: else -> skip
        fi;
        decide();
        if
        :: request != 0 -> ask()
        :: else -> skip
        fi;
        if
        :: input == REPLY -> value = reply
        :: else -> skip
        fi;
        if
        :: input != 0 -> tell()
        :: else -> skip
        fi;
#ifdef STEPS
        if
        :: moved -> steps++
        :: else -> skip
        fi;
#endif
        judge();
        forget()
    }
    od
}
";
