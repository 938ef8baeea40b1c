//! The table of features names the test that shows each of them.

use super::{read, root};

#[test]
fn every_feature_names_tests_that_exist() {
    let table = read("docs/features.md");
    let links: Vec<_> =
        table.split("[`").skip(1).filter_map(|link| link.split(')').next()?.split_once("`](../")).collect();
    assert!(links.len() > 20, "{table}");
    for (test, file) in links {
        let path = root().join(file);
        let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&format!("fn {test}")), "there is no test {test} in {file}");
    }
}
