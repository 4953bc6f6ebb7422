//! Pages that show next to nothing but the way to another one, in place of a redirect of their server.

use std::sync::Arc;

use axum::{
    Router,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use fathom::{
    net::Reach,
    pages::{Web, WebSettings},
};
use parking_lot::Mutex;

use crate::search::local::parser;

/// A site on this machine whose pages show the figure in their address, and which of them were asked for.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    _server: tokio::task::JoinSet<()>,
}

/// A page that leads on, with this text.
fn leads(to: &str, text: &str) -> String {
    format!("<html><head><meta http-equiv=refresh content=\"{to}\"></head><body>{text}</body></html>")
}

fn page(path: &str) -> String {
    let text = "<p>The mill made 6 MWh in May.</p>";
    match path {
        "/moved" => leads("0; url=/here", "<h1>Redirecting&hellip;</h1><a href=/here>Go on</a>"),
        "/bare" => leads("1; url=/here", ""),
        "/here" => "<html><body><p>The mill made 7 MWh in May.</p></body></html>".to_owned(),
        "/comment" => format!("<html><!-- {} --><body>{text}</body></html>", leads("0; url=/here", "")),
        "/script" => format!("<html><body>{text}<script>x = '{}'</script></body></html>", leads("0; url=/here", "")),
        "/noscript" => {
            format!(
                "<html><head><noscript><meta http-equiv=refresh content='0; url=/here'></noscript></head><body>{text}"
            )
        }
        "/says" => leads("0; url=/here", &text.repeat(20)),
        "/again" => leads("5; url=/again", text),
        "/place" => leads("0; url=#/home", text),
        "/slide/1" => leads("5; url=/slide/2", text),
        "/slide/2" => leads("5; url=/slide/1", "<p>The mill made 8 MWh in May.</p>"),
        "/app/" => leads("5; url=/app", text),
        "/loop" => leads("0; url=/check", text),
        "/far" => leads("0; url=/hops/", text),
        "/gone" => leads("0; url=/nowhere", ""),
        "/round" => leads("0; url=/round", ""),
        path => leads(&format!("0; url={path}x"), text),
    }
}

impl Site {
    async fn start() -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let answer = move |uri: Uri| {
            log.lock().push(uri.path().to_owned());
            async move { Self::answer(uri.path()) }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move { axum::serve(listener, Router::new().fallback(get(answer))).await.unwrap() });
        Self { base, asked, _server: server }
    }

    fn answer(path: &str) -> Response {
        let html = (header::CONTENT_TYPE, "text/html".to_owned());
        match path {
            "/nowhere" => StatusCode::NOT_FOUND.into_response(),
            "/app" => Redirect::permanent("/app/").into_response(),
            "/check" => Redirect::to("/loop").into_response(),
            hop if hop.starts_with("/hops/") => Redirect::to(&format!("{hop}x")).into_response(),
            // Five redirects, then a page that leads on to such a row of redirects.
            row if row.starts_with("/row/") => match row.len() % 6 {
                4 => ([html], leads(&format!("0; url={row}x"), "<p>The mill made 9 MWh in May.</p>")).into_response(),
                _ => Redirect::to(&format!("{row}x")).into_response(),
            },
            "/header" => ([html, (header::REFRESH, "0;url=/here".to_owned())], "<p>Moved.</p>").into_response(),
            "/latin" => {
                let (bytes, ..) =
                    encoding_rs::WINDOWS_1252.encode("<meta http-equiv=refresh content='0; url=/\u{fc}ber'>");
                let html = (header::CONTENT_TYPE, "text/html; charset=iso-8859-1");
                ([html], bytes.into_owned()).into_response()
            }
            "/%C3%BCber" => ([html], page("/here")).into_response(),
            path => ([html], page(path)).into_response(),
        }
    }
}

fn web() -> Web {
    Web::new(WebSettings { reach: Reach::All, robots: false, ..WebSettings::default() }, parser()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_only_leads_on_stands_for_the_other_one() {
    let (site, web) = (Site::start().await, web());
    let read = async |path: &str| match web.read(&format!("{}{path}", site.base)).await {
        Ok(page) => format!("{} {}", page.url.trim_start_matches(&site.base), page.text),
        Err(error) => error.to_string(),
    };
    let (own, other) = ("The mill made 6 MWh in May.", "The mill made 7 MWh in May.");
    for path in ["/moved", "/bare", "/header"] {
        assert_eq!(read(path).await, format!("/here {other}"), "{path}");
    }
    assert_eq!(read("/latin").await, format!("/%C3%BCber {other}"));
    for path in ["/comment", "/script", "/noscript", "/says"] {
        let text = read(path).await;
        assert!(text.starts_with(&format!("{path} {own}")), "{path}: {text}");
    }
    // It leads to itself, to another one and back, to what is redirected back or ever on, or ever on.
    for path in ["/again", "/place", "/slide/1", "/app/", "/loop", "/far", "/x"] {
        assert_eq!(read(path).await, format!("{path} {own}"), "{path}");
    }
    assert_eq!(read("/gone").await, "there is no such page (status 404)");
    assert_eq!(read("/round").await, "it could not be read: there is no text in it");
}

/// Redirects and pages that lead on are counted together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_takes_more_than_five_redirects_in_all() {
    let (site, web) = (Site::start().await, web());
    assert!(web.read(&format!("{}/row/", site.base)).await.unwrap().text.starts_with("The mill made 9 MWh"));
    assert_eq!(site.asked.lock().len(), 6);
}

/// Several queries of a search may find the same page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_asked_for_once_by_all_who_read_it_at_the_same_time() {
    let (site, web) = (Site::start().await, web());
    let address = format!("{}/here", site.base);
    let all = futures::future::join_all((0..5).map(|_| web.read(&address))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(*site.asked.lock(), ["/here"]);
}
