//! The TLS alert by which a server ends a connection. With version 1.3 it judges the certificate of its client after the
//! handshake, so the alert comes in place of the first reply.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::AlertDescription;

/// An alert that the server has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TlsAlert(AlertDescription);

/// What a server says by an alert of the certificate of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientCertificate {
    /// It wants one, and was shown none.
    Missing,
    /// It was shown one that it does not accept.
    Refused,
    /// With version 1.2 it may want one; another reason is that no version or cipher is common to both.
    MaybeMissing,
    /// Nothing.
    NotConcerned,
}

impl TlsAlert {
    /// The alert that this error reports, or one of its causes.
    pub(crate) fn behind(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(alert) = Self::reported_by(error) {
                return Some(alert);
            }
            next = error.source();
        }
        None
    }

    fn reported_by(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(rustls::Error::AlertReceived(alert)) = error.downcast_ref() {
            return Some(Self(*alert));
        }
        // An error of the system does not name the error that it was made of as its source.
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.get_ref().and_then(|inner| Self::behind(inner));
        }
        // The source of an error of the `redis` crate is shared.
        error.downcast_ref::<Arc<dyn Error + Send + Sync>>().and_then(|shared| Self::behind(&**shared))
    }

    /// Its name: `CertificateRequired`; `unknown` of an alert that no version of TLS has.
    pub(crate) fn name(self) -> &'static str {
        self.0.as_str().unwrap_or(UNKNOWN)
    }

    /// The names of all alerts.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        (0..=u8::MAX).filter_map(|number| AlertDescription::from(number).as_str()).chain([UNKNOWN])
    }

    /// What the server says by it of the certificate of its client.
    pub(crate) fn on_certificate(self) -> ClientCertificate {
        use AlertDescription as A;
        match self.0 {
            A::CertificateRequired | A::NoCertificate => ClientCertificate::Missing,
            A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            | A::AccessDenied
            | A::DecryptError => ClientCertificate::Refused,
            A::HandshakeFailure => ClientCertificate::MaybeMissing,
            _ => ClientCertificate::NotConcerned,
        }
    }
}

const UNKNOWN: &str = "unknown";

#[cfg(test)]
mod tests {
    use super::*;

    fn received(alert: AlertDescription) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, rustls::Error::AlertReceived(alert))
    }

    #[test]
    fn an_alert_is_found_behind_an_error_of_the_system_and_of_the_redis_crate() {
        let alert = Some(TlsAlert(AlertDescription::UnknownCA));
        assert_eq!(TlsAlert::behind(&received(AlertDescription::UnknownCA)), alert);
        assert_eq!(TlsAlert::behind(&redis::RedisError::from(received(AlertDescription::UnknownCA))), alert);
        let ours = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert_eq!(
            TlsAlert::behind(&io::Error::new(io::ErrorKind::InvalidData, ours)),
            None,
            "of the server's certificate"
        );
        assert_eq!(TlsAlert::behind(&io::Error::from(io::ErrorKind::BrokenPipe)), None);
    }
}
