//! What remains possible beside a bridge.

use std::num::NonZeroUsize;

use lockshift::plan::plan;

use super::fleet;

#[test]
fn tmp() {
    for names in [
        "php-getset",
        "java-getset",
        "jedis-lock",
        "redis-py-2.8",
        "servicestack",
        "setnx-page-del",
        "php-getset+java-getset",
    ] {
        let began = crate::patience::now();
        let plan =
            plan(&fleet(names), &"token".parse().unwrap(), NonZeroUsize::new(2).unwrap(), &mut |_, _| {}).unwrap();
        for o in &plan.outlooks {
            println!("{names} {} {} {}", o.phase, o.states, o.exhausted);
            for r in &o.residuals {
                println!("    {} by {:?} race {:?}: {}", r.property, r.by, r.race.map(|r| r.id), r.trace.says);
            }
        }
        println!("{names} safe {} {:?}", plan.is_safe(), began.elapsed());
    }
}
