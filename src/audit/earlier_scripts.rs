//! Scripts as earlier versions sent them, under other SHA-1s: with their comments, before they ran on Redis 3.2, or before an error
//! in them was corrected.

/// The SHA-1 of an earlier script, and of the one that is sent today, in the order of the first.
const EARLIER: [(&str, &str); 54] = [
    ("02050adf7de93dd084d1f42d6b287e0f7f27a00e", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("04fee609b75f8278f0a5ff92c08ba72ff2131dbc", "787f69837a4aba9de3b01d16c3673078354dfe4a"),
    ("0792255a0f8b26a118581a06bf5c8e0993b91ee0", "3c496b058d92dea22781ecff32772a80dfc56598"),
    ("08e96a250505e4331673bee56877658411b5e778", "eb2beb199633d792d3adef6c1ab41cba5c51ad33"),
    ("12dc1afcf3d2527edc934be60f338cef7b87df10", "9e8d409cc61aba8e5f86a69b7224e3b443a72f99"),
    ("12f64c41e86d58e4cf5e880dd69c69a0e5eb8174", "c7e072833a5b95bd9ed2196b12c243a36a15be10"),
    ("13f47994d31b958f3621283ed82d8fda9ba3ba37", "495aaa357c95fa04a35fb4bd3b059ece69d4fe34"),
    ("1f9f7390597f2499bfeac317e9527ac51c40f59e", "684ecea76f09ee629459cd51859b62edaa3c87d2"),
    ("20095fee54080511494cb25334dfe90a07b82447", "c7e072833a5b95bd9ed2196b12c243a36a15be10"),
    ("21e4c4b51ae9dc4d821a8c64b725f642322264ba", "c7e072833a5b95bd9ed2196b12c243a36a15be10"),
    ("2220b5b44d7deaa569311ad470c82b041aa8ac4a", "ddb1a61713fb5b523f8d2fa65bf4b707262c07db"),
    ("276e03ae178ae4c1f718235670409f72a745add2", "fe7bdc46706c7d69ca37e2ea99cabe9486b283ba"),
    ("306eb9f6c0d5d186f7bfb608f66758c14df93017", "7a6a969cf8bc1ebd6f25282ddd71ad596e345380"),
    ("3fbf85501e47cf58ee6a48d68ec6d66b6418bc57", "c7e072833a5b95bd9ed2196b12c243a36a15be10"),
    ("4241114ddeaac52a3ef6129488900152c9c7fdef", "ada2dc93db558e06a813e46f9e6d65c3e23612ee"),
    ("4a745bda4d62b31acc1ab29f04666421882215e2", "e9a1d075e0bdeaae974a80cafe5132466049f139"),
    ("4dd24c0a64a3c5338ab94fa1a35ffc773211e84a", "0c3c1e04efe6cc331e0fe64f4dfb0eea398dbfad"),
    ("4eb1361c9cbaa2bfa288f22d45a56e4e113e70c2", "6510a9bdb2676210f43060d3acce0746c4a1f363"),
    ("50d0f46bf4d55bf789a485de4db81e15c0c3a314", "fe7bdc46706c7d69ca37e2ea99cabe9486b283ba"),
    ("59d8635c9890da25083e4383172cc385a0a01616", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("5a6916f2bb5f2bf0d6e752549fbdf940d7f3399b", "e108ee18bf0522b83c7d03385ef71eafc09cea9d"),
    ("5e6eafdc8a1c13546bd74c38b2ca0feb75256d70", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("5e82b0f64d9683d8fbd764d60b011f9d99da90a4", "7137954c77ed3eced0e5a3f2c0d0f49065e988a4"),
    ("61a456cfaa8e0b6c7729dff6e747ba628ea017e9", "6fe30e730d6e0a88e227415c3ccdf7d82ebf3de9"),
    ("7270457fd9a935010b720334038c44c2a0d53db5", "4b0c84e10454b91db068cf9e4fcd4d3b95e24fdc"),
    ("747d95d93ddddf8cc90bc0e6073dccd2f6413238", "e4922a95d0d34b474742a54fc2d2f94bd0db7ff8"),
    ("7604e25e0f6d16045330a80872ce50963d9b2a9a", "e8d15be040e377d9771d97f38492e2a60e2c8c2f"),
    ("788d313f4f303474851442203df382ecdcd0b0ff", "2c61639e746ab347a6b7751eb161337186092f80"),
    ("7f308d167f12b242232abc51bff4e890195d2776", "c7e072833a5b95bd9ed2196b12c243a36a15be10"),
    ("89dc8dabbfc83de86b2296f7e89884be4a9f09c4", "0bb0dcfac73e635ca235013bf71d22e36e01e307"),
    ("8e6e8d27ac8798375c331c0fb52e40a074e7e663", "c7cd69095c8d1792deb31a31cb01fe115a1786d3"),
    ("8fc8631f8d71e72ab6a9e7df7aec2e09e774a8ff", "a5c2b63f3c0b3e702a3a4a725d7cea1cdd778d39"),
    ("93481e125af5b47a400bcb52e1ba71a8a029583c", "51d43e132a58ac72896a9f251d8651ace3262355"),
    ("993050dcdba4b21851e713dc8c02495e4a404845", "a87f47b127da3000643f115bfb1682b955333cfa"),
    ("9b186741b86123bb587b3484509c9952ab714180", "6b3181f8b43d30e3db2c4c0d97ddf5a93b92450a"),
    ("a09ac617b1723abb2a58730278ab9cc08e990b56", "a5c2b63f3c0b3e702a3a4a725d7cea1cdd778d39"),
    ("a4fcbbcdfcd4a2b962ebd195970a37ffbc02bbe0", "c7e072833a5b95bd9ed2196b12c243a36a15be10"),
    ("a6f27e9358a35c42f42f34532da5c1c08446d22f", "c7cd69095c8d1792deb31a31cb01fe115a1786d3"),
    ("bafd87a23ed3b6a8907f8d838d83f3566ab1c9a3", "9e8d409cc61aba8e5f86a69b7224e3b443a72f99"),
    ("be7b6db8c1bc9b0324c64bd76bfc950e1fc38dc4", "70e5113c8613e247b9b46a85f219e2b5d8af080f"),
    ("c2fa7a5261a7ccc138e50db224530d79b0ee7903", "1185e7d8928e4b1d9fe48ae405cb85131c5a6feb"),
    ("c423ba44edd2dd8caeba8bf0cbd7b80725d139bf", "5a4c2563b80bb303f73504b08ff8880a5c8fc91e"),
    ("ceb1a7376bfe6e5c9fb2a58bb5281f239f34bf36", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("cf8d333b27c1465f7f381a822bd87bddf4b63ff7", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("d433f7556fc2f9505366f4011551c229674ba19d", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("d4837d19a88a0827f7d0a6443c936ec48518b4d2", "7d9cfe5247daa6b6299a3e8d33cc3497711bc902"),
    ("d4fa6f6862157708746de90b0b1062042b800bc2", "36c9f91a7de2bbecc4ea5e2b25d66a3d36714f80"),
    ("d910c5a4688e32a7824ef54c885e3fb30ac45ac4", "23f99240f8a2dcaeb8780df2dac0914ba09e665a"),
    ("dd8b9d53f1ab27e78067e4f2714b3a5653f0d71c", "2272986c81463d71fdd621ddc18a4c2cedc0456d"),
    ("df7829b2576482dcc07c1cb6f43615d9510ba5cf", "6415f76121ffca1b0d5530dfdfaa3a2f3ac4c366"),
    ("e077fa342811a762e233f1e1ff607b732db07fc6", "1185e7d8928e4b1d9fe48ae405cb85131c5a6feb"),
    ("eaed655a56e035fa70ac674f102c0d97360cab88", "9e8d409cc61aba8e5f86a69b7224e3b443a72f99"),
    ("edb4c926b3c1487f7d28f89198c4a17b632ba343", "7ea8345e97c15af9f030573e009b293a0270e559"),
    ("f93d2d48ed59324e5d597018d9d0331b85b33d50", "49a5573fae430fc31fea9d5b8bf702ab87754e20"),
];

/// The SHA-1 of the script that is sent today in place of the one of this SHA-1.
pub(super) fn current(sha1: &[u8]) -> &[u8] {
    match EARLIER.binary_search_by(|(earlier, _)| earlier.as_bytes().cmp(sha1)) {
        Ok(index) => EARLIER[index].1.as_bytes(),
        Err(_) => sha1,
    }
}

/// The lines of a Lua text that are more than a comment. Services in other languages send the files of this library as they
/// stand; it sends them itself without their comments.
pub(super) fn without_comments(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii_start().starts_with(b"--")).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::scripts::{scripts, sha1};

    #[test]
    fn a_file_that_is_sent_as_it_stands_is_known() {
        for file in [
            include_str!("../bridge/lua/acquire.lua"),
            include_str!("../bridge/lua/extend.lua"),
            include_str!("../bridge/lua/release.lua"),
        ] {
            assert!(scripts().contains_key(&sha1(&without_comments(file.as_bytes()))), "{file}");
        }
    }

    #[test]
    fn each_stands_for_a_script_of_today() {
        assert!(EARLIER.is_sorted());
        let unknown = EARLIER.iter().filter(|(_, today)| !scripts().contains_key(today.as_bytes()));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
        assert!(EARLIER.iter().all(|(earlier, today)| current(earlier.as_bytes()) == today.as_bytes()));
    }
}
