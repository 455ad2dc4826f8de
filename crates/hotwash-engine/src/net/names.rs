//! Which addresses a host has. Asked for once in a while: the client wants to know before every request, also where it has
//! a connection, and waits for each answer in a thread of its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// How long an answer holds.
const FRESH: Duration = Duration::from_secs(30);

/// Remembers what `R` said.
#[derive(Debug, Default)]
pub(super) struct Names<R = DefaultResolver> {
    asked: R,
    known: Mutex<HashMap<String, (Instant, Vec<SocketAddr>)>>,
}

impl<R: Resolver> Resolver for Names<R> {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let name =
            uri.scheme().zip(uri.authority()).and_then(|(scheme, host)| DefaultResolver::host_and_port(scheme, host));
        let Some(name) = name else { return self.asked.resolve(uri, config, timeout) };
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |(since, _): &&(Instant, Vec<SocketAddr>)| since.elapsed() < FRESH;
        if let Some((_, addresses)) = known().get(&name).filter(fresh) {
            let mut found = self.empty();
            for address in addresses {
                found.push(*address);
            }
            return Ok(found);
        }
        // Not while holding the lock: others may know where they want to go.
        let found = self.asked.resolve(uri, config, timeout)?;
        known().insert(name, (Instant::now(), found.to_vec()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU16, Ordering};

    /// Says another port each time it is asked, and nothing of hosts that are called `gone`.
    #[derive(Debug, Default)]
    struct Counting(AtomicU16);

    impl Resolver for Counting {
        fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
            let times = self.0.fetch_add(1, Ordering::Relaxed);
            if uri.host() == Some("gone") {
                return Err(Error::HostNotFound);
            }
            let mut found = self.empty();
            found.push(([127, 0, 0, 1], times).into());
            Ok(found)
        }
    }

    #[test]
    fn a_host_is_looked_up_once_and_one_that_was_not_found_again() {
        let names = Names::<Counting>::default();
        let port = |uri: &str| {
            let found = names.resolve(&uri.parse().unwrap(), &Config::default(), NextTimeout::default());
            found.ok().map(|found| found[0].port())
        };
        assert_eq!((port("http://a/x"), port("http://a/y"), port("http://a:80/")), (Some(0), Some(0), Some(0)));
        assert_eq!((port("https://a/"), port("http://b/")), (Some(1), Some(2)));
        assert_eq!((port("http://gone/"), port("http://gone/"), port("http://c/")), (None, None, Some(5)));
    }
}
