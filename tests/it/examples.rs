//! The examples that tell a story, told.

use crate::server::Server;

#[path = "../../examples/fenced.rs"]
#[expect(dead_code, reason = "an example has a main function of its own")]
mod fenced;

#[test]
fn a_stale_fence_is_refused() {
    let server = Server::start();
    let mut told = Vec::new();
    fenced::tell(&server.client(), &mut told).unwrap();
    assert_eq!(
        String::from_utf8(told).unwrap(),
        "the second holder writes: accepted\n\
         the first holder writes: refused, its fence is stale\n\
         the report is by the second holder\n\
         the first holder gives the lock back: it had lost it\n\
         the second holder gives the lock back: it was its own\n"
    );
}
