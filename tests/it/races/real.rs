//! Every schedule that was found, on a real Redis.

use lockshift::races::{self, Reproduction};
use lockshift::replay::{Divergence, replay};
use lockshift::wire::{Key, Node, Reply, UnixTime};

use super::found::{ONE_THREAD, find};
use crate::server::Server;

#[test]
fn a_real_redis_answers_every_found_schedule_as_the_simulated_one() {
    let server = Server::start();
    let (mut need_a_fault, mut need_several) = (Vec::new(), Vec::new());
    for race in races::catalogue() {
        for (what, scenario, found) in find(race) {
            let found = found.unwrap_or_else(|| panic!("{} ({what}) is found", race.id));
            match on(&server, &scenario, &found) {
                Ok(()) => {}
                Err(Divergence::ServerFault { .. }) => need_a_fault.push(race.id.name()),
                Err(Divergence::SeveralServers { .. }) => need_several.push(race.id.name()),
                Err(divergence) => panic!("{} ({what}): {divergence}", race.id),
            }
        }
    }
    assert_eq!(need_a_fault, ["failover-loses-lock", "failover-loses-lock", "failover-loses-fence"]);
    assert_eq!(need_several, ["partial-quorum-stays"], "replayed below");
    let left: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.connect()).unwrap();
    assert_eq!(left, [""; 0], "what a replay has made is gone afterwards");
}

fn on(server: &Server, scenario: &races::Scenario, found: &Reproduction) -> Result<(), Divergence> {
    let key = Key::from("lockshift:replay");
    let trace = scenario.retell(found, &key, UnixTime::from_secs(1_800_000_000).unwrap());
    replay(&trace, 1, &mut |_| server.client().get_connection())
}

#[test]
fn three_real_servers_answer_the_minorities_as_simulated_ones_do() {
    let servers = [(); 3].map(|()| Server::start());
    let race = races::find("partial-quorum-stays").unwrap();
    let found = race.reproduce(ONE_THREAD, &mut |_| ()).unwrap();
    let key = Key::from("lockshift:replay");
    let trace = race.scenario.retell(&found, &key, UnixTime::from_secs(1_800_000_000).unwrap());
    let on =
        |trace, count| replay(trace, count, &mut |node: Node| servers[usize::from(node.0)].client().get_connection());
    on(&trace, 3).unwrap();
    let few = on(&trace, 2).unwrap_err();
    assert_eq!(few.to_string(), "the schedule speaks to 3 servers, and there are 2");
    for server in &servers {
        let asked: String = redis::cmd("INFO").arg("commandstats").query(&mut server.connect()).unwrap();
        assert!(asked.contains("cmdstat_set:calls="), "each was asked for the lock:\n{asked}");
        assert_eq!(redis::cmd("DBSIZE").query(&mut server.connect()), Ok(0), "nothing stays behind");
    }

    let mut liar = trace.clone();
    let mut exchanges = liar.steps.iter_mut().filter_map(|step| step.exchange.as_mut());
    let last = exchanges.rfind(|exchange| exchange.command.node() == Node(2)).unwrap();
    last.reply = Reply::Int(7);
    assert!(matches!(on(&liar, 3), Err(Divergence::Reply { .. })), "the third is listened to");
}

#[test]
fn a_key_in_use_is_left_alone() {
    let server = Server::start();
    redis::cmd("SET").arg("lockshift:replay").arg("precious").exec(&mut server.connect()).unwrap();
    let race = races::find("late-unlock").unwrap();
    let found = race.reproduce(ONE_THREAD, &mut |_| ()).unwrap();
    let refused = on(&server, &race.scenario, &found).unwrap_err();
    assert!(matches!(&refused, Divergence::KeyInUse(key) if key.as_bytes() == b"lockshift:replay"), "{refused}");
    assert_eq!(redis::cmd("GET").arg("lockshift:replay").query(&mut server.connect()), Ok("precious".to_owned()));
}

#[test]
fn a_wrong_schedule_diverges_in_a_replay() {
    let server = Server::start();
    let race = races::find("late-unlock").unwrap();
    let found = race.reproduce(ONE_THREAD, &mut |_| ()).unwrap();
    let key = Key::from("lockshift:replay");
    let honest = race.scenario.retell(&found, &key, UnixTime::from_secs(1_800_000_000).unwrap());

    let mut liar = honest.clone();
    let release = liar.steps.last_mut().unwrap().exchange.as_mut().unwrap();
    release.reply = Reply::Int(0);
    let caught = replay(&liar, 1, &mut |_| server.client().get_connection()).unwrap_err();
    assert_eq!(caught.to_string(), "DEL lockshift:replay was answered 1, and 0 in the trace");

    let mut timeless = honest.clone();
    timeless.steps.retain(|step| step.actor.is_some());
    timeless.steps.iter_mut().for_each(|step| step.at_ms = 0);
    let caught = replay(&timeless, 1, &mut |_| server.client().get_connection()).unwrap_err();
    assert!(matches!(caught, Divergence::Reply { .. }), "without its ticks the lock is still held: {caught}");
}
