//! Encrypted connections, by rustls: the certificate that clients see, and how the server's is verified.

use std::fmt;
use std::io;
use std::sync::Arc;

use redis::TlsCertificates;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::stream::{Duplex, Stream};

/// Certificates or a key that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidTls {
    /// It is not a certificate in PEM format.
    #[error("a certificate is not valid PEM: {0}")]
    Certificate(pem::Error),
    /// It is not a private key in PEM format.
    #[error("the key is not valid PEM: {0}")]
    Key(pem::Error),
    /// A file of certificates contains none.
    #[error("a file contains no certificate")]
    NoCertificate,
    /// The certificate and the key do not fit, or rustls does not support them.
    #[error("{0}")]
    Unusable(#[from] rustls::Error),
    /// Certificates of clients cannot be verified by these authorities.
    #[error("clients cannot be verified: {0}")]
    ClientAuthority(#[from] VerifierBuilderError),
    /// The system's authorities cannot be read.
    #[error("the authorities that the system trusts cannot be read: {0}")]
    System(#[from] rustls_native_certs::Error),
    /// A certificate cannot be issued to this host.
    #[error("not the name of a host: {0}")]
    Host(#[from] InvalidDnsNameError),
}

/// The certificate that a proxy presents to its clients, and which of them it accepts.
#[derive(Clone)]
pub struct ListenTls(TlsAcceptor);

impl ListenTls {
    /// Presents this certificate with its chain. If `client_ca` is given, a client must present a certificate of one of
    /// these authorities. All are in PEM format.
    ///
    /// # Errors
    /// [`InvalidTls`]: one of them cannot be read or used.
    pub fn new(certificate: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, InvalidTls> {
        let builder = ServerConfig::builder();
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let verifier = WebPkiClientVerifier::builder(Arc::new(roots(authorities)?)).build()?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(certificates(certificate)?, private_key(key)?)?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// The encrypted stream of a client.
    pub(super) async fn accept(&self, client: impl Duplex + 'static) -> io::Result<Stream> {
        self.0.accept(client).await.map(Stream::new)
    }
}

impl fmt::Debug for ListenTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListenTls")
    }
}

/// How the server's certificate is verified, and which certificate is presented to it.
#[derive(Clone)]
pub struct UpstreamTls {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl UpstreamTls {
    /// Connects to this host only if its certificate names it and comes from an authority among these, or if none is
    /// given, from one that the system trusts.
    ///
    /// # Errors
    /// [`InvalidTls`]: a certificate or key cannot be read or used.
    pub fn new(host: &str, trust: &TlsCertificates) -> Result<Self, InvalidTls> {
        let authorities = match &trust.root_cert {
            Some(authorities) => roots(authorities)?,
            None => system_roots()?,
        };
        let builder = ClientConfig::builder().with_root_certificates(authorities);
        let config = match &trust.client_tls {
            None => builder.with_no_client_auth(),
            Some(own) => {
                builder.with_client_auth_cert(certificates(&own.client_cert)?, private_key(&own.client_key)?)?
            }
        };
        Ok(Self { connector: Arc::new(config).into(), host: ServerName::try_from(host.to_owned())? })
    }

    pub(super) async fn connect(&self, server: TcpStream) -> io::Result<Stream> {
        self.connector.connect(self.host.clone(), server).await.map(Stream::new)
    }
}

impl fmt::Debug for UpstreamTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamTls").field("host", &self.host).finish_non_exhaustive()
    }
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, InvalidTls> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().map_err(InvalidTls::Certificate)?;
    if found.is_empty() {
        return Err(InvalidTls::NoCertificate);
    }
    Ok(found)
}

fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, InvalidTls> {
    PrivateKeyDer::from_pem_slice(text).map_err(InvalidTls::Key)
}

fn roots(text: &[u8]) -> Result<RootCertStore, InvalidTls> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(text)? {
        store.add(certificate)?;
    }
    Ok(store)
}

fn system_roots() -> Result<RootCertStore, InvalidTls> {
    let mut loaded = rustls_native_certs::load_native_certs();
    if let Some(error) = loaded.errors.pop() {
        return Err(error.into());
    }
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(loaded.certs);
    Ok(store)
}
