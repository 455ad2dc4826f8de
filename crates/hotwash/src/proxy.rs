//! Which proxy, if any, a server is reached through.

use crate::env::{self, Environment};
use hotwash_engine::net::Key;
use std::net::IpAddr;

/// The proxy for a server. It is for `https` only, and never for what is on this machine.
pub(crate) fn proxy(env: &Environment, base: &str) -> Option<Key> {
    let first = |names: [&str; 2]| names.iter().find_map(|name| env.get(name)).map(str::trim);
    let proxy = first([env::HTTPS_PROXY, env::HTTPS_PROXY_SMALL]).filter(|proxy| !proxy.is_empty())?;
    let without = first([env::NO_PROXY, env::NO_PROXY_SMALL]).unwrap_or_default();
    is_for(base, without).then(|| Key::new(proxy))
}

/// Whether a server is reached through the proxy, where `without` names those that are not.
fn is_for(base: &str, without: &str) -> bool {
    let base = base.trim().to_ascii_lowercase();
    if base.starts_with("http://") {
        return false;
    }
    let (host, port) = host_and_port(base.strip_prefix("https://").unwrap_or(&base));
    let is_here = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified());
    let named = |entry: &str| {
        let (name, only) = host_and_port(entry);
        let name = name.trim_start_matches('*').trim_start_matches('.');
        let same = host == name || host.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
        !name.is_empty() && same && only.is_none_or(|only| only == port.unwrap_or("443"))
    };
    let without = without.to_ascii_lowercase();
    let mut entries = without.split([',', ' ']).filter(|entry| !entry.is_empty());
    !is_here && !entries.any(|entry| entry == "*" || named(entry))
}

/// The host of a URL without its scheme, and its port where one is named.
fn host_and_port(rest: &str) -> (&str, Option<&str>) {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    if let Some((host, port)) = place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        return (host, port.strip_prefix(':'));
    }
    match place.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (place, None),
    }
}

#[cfg(test)]
mod tests {
    use super::is_for;

    #[test]
    fn what_is_near_or_named_needs_no_proxy() {
        for (base, without, expected) in [
            ("https://api.anthropic.com", "", true),
            ("cloud.example.com", "", true),
            ("http://api.example.com/v1", "", false),
            ("https://localhost:8443/v1", "", false),
            ("https://127.0.0.9", "", false),
            ("https://[::1]:8000/v1", "", false),
            ("https://api.example.com", "*", false),
            ("https://api.example.com", "other.org, example.com", false),
            ("https://API.example.com/v1", ".Example.com", false),
            ("https://api.example.com", "*.example.com", false),
            ("https://badexample.com", "example.com", true),
            ("https://api.example.com", "example.com:8443", true),
            ("https://api.example.com:8443", "example.com:8443", false),
            ("https://someone@api.example.com", "api.example.com:443", false),
            ("https://[fd00::7]/v1", "fd00::7", false),
        ] {
            assert_eq!(is_for(base, without), expected, "{base} without {without}");
        }
    }
}
