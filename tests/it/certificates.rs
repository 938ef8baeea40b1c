//! Certificates of an authority of one's own, as files in a directory that is gone when dropped.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

/// An authority. Its certificate is in `ca.pem`.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    /// A new one.
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Two certificates of one name would be taken for one that has signed itself.
        params.distinguished_name.push(DnType::CommonName, "authority");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { issuer, directory: TempDir::new().unwrap() };
        std::fs::write(authority.path("ca.pem"), authority.issuer.pem()).unwrap();
        authority
    }

    /// Issues a certificate to these hosts, which may have expired: `NAME.pem`, with its key in `NAME.key`.
    pub(crate) fn issue(&self, name: &str, hosts: &[&str], is_expired: bool) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(hosts.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        if is_expired {
            (params.not_before, params.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    /// The path of one of its files.
    pub(crate) fn path(&self, file: &str) -> String {
        self.directory.path().join(file).display().to_string()
    }

    /// What is in one of its files.
    pub(crate) fn pem(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.path(file)).unwrap()
    }
}
