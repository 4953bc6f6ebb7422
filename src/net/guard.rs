//! Addresses that somebody else chose are only called when they are public: nobody shall reach this machine, or those
//! beside it, through us. What is checked is the address that is connected to, so a name cannot change its mind.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use futures::future::BoxFuture;
use ipnet::IpNet;
use reqwest::{
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use url::{Host, Url};

use super::{Error, Timeouts, builder, describe, redirects};

/// Networks that the operator allows; none unless they say so.
pub type Networks = Arc<[IpNet]>;

/// Which addresses may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public ones, and those in these networks.
    Public(Networks),
    /// Private ones, too.
    All,
}

impl Reach {
    /// Returns all addresses, or public ones and those in `networks`.
    pub fn new(all: bool, networks: &Networks) -> Self {
        if all { Self::All } else { Self::Public(networks.clone()) }
    }

    /// Returns whether this may be called, as far as the address itself tells. A name is looked up when it is called,
    /// but for those that always mean this machine.
    pub fn covers(&self, url: &Url) -> bool {
        match url.host() {
            None => false,
            Some(Host::Domain(name)) if is_this_machine(name) => {
                self.covers_ip(Ipv4Addr::LOCALHOST.into()) || self.covers_ip(Ipv6Addr::LOCALHOST.into())
            }
            Some(Host::Domain(_)) => true,
            Some(Host::Ipv4(ip)) => self.covers_ip(ip.into()),
            Some(Host::Ipv6(ip)) => self.covers_ip(ip.into()),
        }
    }

    /// Returns whether the operator allows it, public or not, as far as the address itself tells. A name may be one of
    /// any network.
    pub fn allows(&self, url: &Url) -> bool {
        match (self, url.host()) {
            (Self::Public(networks), Some(Host::Domain(name))) if !is_this_machine(name) => !networks.is_empty(),
            (_, Some(Host::Ipv4(ip))) => self.allows_ip(ip.into()),
            (_, Some(Host::Ipv6(ip))) => self.allows_ip(ip.into()),
            (_, host) => {
                host.is_some()
                    && (self.allows_ip(Ipv4Addr::LOCALHOST.into()) || self.allows_ip(Ipv6Addr::LOCALHOST.into()))
            }
        }
    }

    fn covers_ip(&self, ip: IpAddr) -> bool {
        is_public(ip) || self.allows_ip(ip)
    }

    fn allows_ip(&self, ip: IpAddr) -> bool {
        match self {
            Self::All => true,
            Self::Public(networks) => {
                // An IPv4 address in the clothes of an IPv6 one is in the networks of the former.
                let plain = ip.to_canonical();
                networks.iter().any(|network| network.contains(&plain))
            }
        }
    }
}

/// Returns a client for addresses that somebody else chose: it follows no redirects, uses no proxy, and connects to
/// what `reach` covers. Check addresses that are numbers with [`Reach::covers`], they are never looked up.
///
/// # Errors
/// [`Error::Client`] when TLS cannot be set up.
pub fn guarded(timeouts: Timeouts, reach: Reach) -> Result<reqwest::Client, Error> {
    guarded_by(timeouts, Resolver::of(reach), Policy::none())
}

/// Returns such a client that follows a redirect within the origin if it keeps method and body (307, 308). The host
/// stays the same, and is looked up and judged again for each new connection.
///
/// # Errors
/// As [`guarded`].
pub fn guarded_within_origin(timeouts: Timeouts, reach: Reach) -> Result<reqwest::Client, Error> {
    guarded_by(timeouts, Resolver::of(reach), redirects::within_origin())
}

/// Clients for such addresses by their ports: on other ports than the usual ones only what the operator allows is
/// called, and not what is just public.
#[derive(Debug)]
pub struct GuardedClients {
    usual: reqwest::Client,
    others: reqwest::Client,
    reach: Reach,
    ports: &'static [u16],
}

/// Why an address is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncalled {
    Private,
    Port,
}

impl GuardedClients {
    /// Creates the clients; `ports` are the usual ones.
    ///
    /// # Errors
    /// As [`guarded`].
    pub fn new(timeouts: Timeouts, reach: Reach, ports: &'static [u16]) -> Result<Self, Error> {
        Self::by(Arc::new(system), timeouts, reach, ports)
    }

    fn by(lookup: Arc<Lookup>, timeouts: Timeouts, reach: Reach, ports: &'static [u16]) -> Result<Self, Error> {
        let client = |is_for_public: bool| {
            let resolver = Resolver { reach: reach.clone(), is_for_public, lookup: Arc::clone(&lookup) };
            guarded_by(timeouts, resolver, Policy::none())
        };
        Ok(Self { usual: client(true)?, others: client(false)?, ports, reach })
    }

    /// Returns the same with a client that is not guarded.
    #[cfg(test)]
    pub fn with_usual(self, usual: reqwest::Client) -> Self {
        Self { usual, ..self }
    }

    /// Returns the client that may call an address. Which network a name is of shows when it is called.
    ///
    /// # Errors
    /// It may not be called.
    pub fn for_url(&self, url: &Url) -> Result<&reqwest::Client, Uncalled> {
        let port = url.port_or_known_default().unwrap_or_default();
        match () {
            () if !self.reach.covers(url) => Err(Uncalled::Private),
            () if self.ports.contains(&port) => Ok(&self.usual),
            () if self.reach.allows(url) => Ok(&self.others),
            () => Err(Uncalled::Port),
        }
    }
}

fn guarded_by(timeouts: Timeouts, resolver: Resolver, redirects: Policy) -> Result<reqwest::Client, Error> {
    let builder = builder(timeouts).redirect(redirects).no_proxy().dns_resolver(Arc::new(resolver));
    builder.build().map_err(|error| Error::Client(describe(&error)))
}

/// Looks a name up each time it is called: what was allowed before does not count.
#[derive(Clone)]
struct Resolver {
    reach: Reach,
    /// Whether a public address will do.
    is_for_public: bool,
    lookup: Arc<Lookup>,
}

type Lookup = dyn Fn(String) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> + Send + Sync;

/// Looks a name up as this machine does.
fn system(name: String) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the address is not a public one")]
    NotPublic,
    #[error("on this port only addresses in allowed networks are called")]
    NotAllowed,
}

impl Resolver {
    fn of(reach: Reach) -> Self {
        Self { reach, is_for_public: true, lookup: Arc::new(system) }
    }

    fn admits(&self, ip: IpAddr) -> bool {
        if self.is_for_public { self.reach.covers_ip(ip) } else { self.reach.allows_ip(ip) }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.lookup)(name.as_str().to_owned());
        let guard = self.clone();
        Box::pin(async move {
            let found = found.await?.into_iter();
            let allowed: Vec<SocketAddr> = found.filter(|address| guard.admits(address.ip())).collect();
            if allowed.is_empty() {
                return Err(if guard.is_for_public { Refused::NotPublic } else { Refused::NotAllowed }.into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}

/// Returns whether it is `localhost` or a name below it (RFC 6761, section 6.3), in lower case, as in a [`Url`].
fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns whether it is an address of the public internet (IANA's special-purpose registries, as of 2026).
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = ip.is_unspecified()
        || ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_broadcast()
        || ip.is_documentation();
    // This network, shared addresses of providers, protocol assignments, 6to4 relays, benchmarks, reserved ones.
    let reserved = a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240;
    !special && !reserved
}

/// Returns whether it is assigned for global use (2000::/3), less the parts that lead elsewhere, and the ways to IPv4.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    if let Some(v4) = ip.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let last = Ipv4Addr::from((u32::from(segments[6]) << 16) | u32::from(segments[7]));
    match segments {
        // NAT64 and 6to4 carry an IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(last),
        [0x2002, high, low, ..] => is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        // Protocol assignments (Teredo, ORCHID, benchmarks …) and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let check = |expected: bool, addresses: &[&str]| {
            addresses.iter().for_each(|ip| assert_eq!(is_public(ip.parse().unwrap()), expected, "{ip}"));
        };
        check(true, &["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"]);
        check(true, &["::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]);
        check(false, &["127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254"]);
        // Where clouds hand out credentials.
        check(false, &["169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", "::ffff:169.254.169.254"]);
        check(false, &["0.0.0.0", "0.1.2.3", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "255.255.255.255"]);
        check(
            false,
            &["::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1"],
        );
        check(false, &["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"]);
    }

    #[test]
    fn numbers_in_an_address_are_seen_however_they_are_written() {
        let covers = |url: &str| public().covers(&url.parse().unwrap());
        for url in ["http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://[::ffff:7f00:1]/", "http://0/"]
        {
            assert!(!covers(url), "{url}");
            assert!(Reach::All.covers(&url.parse().unwrap()));
        }
        assert!(covers("https://example.com/") && covers("https://1.1.1.1/"));
    }

    #[test]
    fn names_of_this_machine_are_as_private_as_its_addresses() {
        let near = Reach::Public(["127.0.0.0/8".parse().unwrap()].into());
        for host in ["localhost", "LocalHost:8080", "localhost.", "hooks.localhost"] {
            let url = format!("http://{host}/").parse().unwrap();
            assert!(!public().covers(&url) && near.covers(&url) && Reach::All.covers(&url), "{host}");
        }
        for host in ["localhost.example.com", "notlocalhost", "my-localhost.org"] {
            assert!(public().covers(&format!("http://{host}/").parse().unwrap()), "{host}");
        }
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let error = guarded(Timeouts::default(), public()).unwrap().get(&url).send().await.unwrap_err();
        assert!(Error::from(error).to_string().contains("not a public one"));
        let connected = std::pin::pin!(listener.accept());
        assert!(futures::FutureExt::now_or_never(connected).is_none(), "nobody connected");
    }

    #[tokio::test]
    async fn networks_that_the_operator_allows_may_be_called_and_no_others() {
        let networks = ["10.20.0.0/16", "fd12:3456::/32", "127.0.0.1/32"].map(|text| text.parse().unwrap());
        let reach = Reach::Public(networks.into());
        let check = |expected: bool, hosts: &[&str]| {
            let covers = |host: &&str| reach.covers(&format!("http://{host}/").parse().unwrap());
            hosts.iter().for_each(|host| assert_eq!(covers(host), expected, "{host}"));
        };
        check(true, &["10.20.255.1", "[fd12:3456::9]", "127.0.0.1", "127.1", "[::ffff:10.20.0.1]", "1.1.1.1"]);
        check(false, &["10.21.0.1", "[fd12:3457::9]", "127.0.0.2", "[::1]", "169.254.169.254", "192.168.1.1"]);
        // A way to IPv4 is no address of the network that it leads to.
        check(false, &["[64:ff9b::10.20.0.1]", "[2002:a14:1::]", "[::10.20.0.1]"]);
        let lookup = |_| -> BoxFuture<'static, _> {
            let all = ["10.21.0.1:0", "10.20.0.7:0", "169.254.169.254:0"].map(|address| address.parse().unwrap());
            Box::pin(async move { Ok(all.to_vec()) })
        };
        let resolver = Resolver { reach, is_for_public: true, lookup: Arc::new(lookup) };
        assert_eq!(resolved(&resolver).await, Some(vec!["10.20.0.7".to_owned()]));
    }

    /// A name may be of a public address and of an allowed one; which of them is called depends on the port.
    #[tokio::test]
    async fn public_addresses_are_called_on_usual_ports_alone() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let reach = Reach::Public(["10.20.0.0/16".parse().unwrap()].into());
        let lookup = |_| -> BoxFuture<'static, _> { Box::pin(async { Ok(vec!["1.1.1.1:0".parse().unwrap()]) }) };
        let clients = GuardedClients::by(Arc::new(lookup), Timeouts::default(), reach, &[80]).unwrap();
        let url: Url = format!("http://a.test:{port}/").parse().unwrap();
        let refused = clients.for_url(&url).unwrap().get(url).send().await.unwrap_err();
        assert!(Error::from(refused).to_string().contains("on this port only"));
        let url = |text: &str| text.parse::<Url>().unwrap();
        assert!(std::ptr::eq(clients.for_url(&url("http://a.test/")).unwrap(), &clients.usual));
        assert_eq!(clients.for_url(&url("http://1.1.1.1:22/")).err(), Some(Uncalled::Port));
        assert_eq!(clients.for_url(&url("http://10.21.0.1/")).err(), Some(Uncalled::Private));
    }

    #[tokio::test]
    async fn what_is_public_is_not_allowed_by_that() {
        let reach = Reach::Public(["10.20.0.0/16".parse().unwrap()].into());
        let allows = |reach: &Reach, host: &str| reach.allows(&format!("http://{host}:9000/").parse().unwrap());
        assert!(allows(&reach, "10.20.0.1") && allows(&reach, "a.test"));
        for host in ["1.1.1.1", "[2606:4700::1111]", "10.21.0.1", "localhost"] {
            assert!(!allows(&reach, host) && allows(&Reach::All, host), "{host}");
        }
        assert!(!allows(&public(), "a.test"));
        let lookup = |_| -> BoxFuture<'static, _> {
            Box::pin(async { Ok(["1.1.1.1:0", "10.20.0.7:0"].map(|address| address.parse().unwrap()).to_vec()) })
        };
        let resolver = Resolver { reach, is_for_public: false, lookup: Arc::new(lookup) };
        assert_eq!(resolved(&resolver).await, Some(vec!["10.20.0.7".to_owned()]));
    }

    fn public() -> Reach {
        Reach::Public(Networks::default())
    }

    async fn resolved(resolver: &Resolver) -> Option<Vec<String>> {
        let resolved = resolver.resolve("rebinding.test".parse().unwrap()).await;
        resolved.map(|all| all.map(|address| address.ip().to_string()).collect()).ok()
    }

    /// A name that is of a public address when it is looked at, and of a private one when it is called.
    #[tokio::test]
    async fn a_name_that_changes_its_mind_is_judged_each_time() {
        let answers = [&["1.1.1.1:0"][..], &["127.0.0.1:0"], &["10.0.0.1:0", "2.2.2.2:0", "[::1]:0"], &[]];
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let lookup = move |_| -> BoxFuture<'static, _> {
            let answer = answers[asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed)];
            Box::pin(async move { Ok(answer.iter().map(|address| address.parse().unwrap()).collect()) })
        };
        let resolver = Resolver { reach: public(), is_for_public: true, lookup: Arc::new(lookup) };
        let mut found = Vec::new();
        for _ in answers {
            found.push(resolved(&resolver).await);
        }
        assert_eq!(found, [Some(vec!["1.1.1.1".to_owned()]), None, Some(vec!["2.2.2.2".to_owned()]), None]);
    }
}
