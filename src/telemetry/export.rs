//! The way of spans to a collector that speaks OTLP over HTTP: gathered, sent by a task of our own client, given up
//! after a time. Spans that find the queue full are dropped.

use std::{sync::Arc, time::Duration};

use opentelemetry::KeyValue;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{self as sdk, BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanData},
};
use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use super::{TraceSettings, spans::TraceIds};
use crate::net::{ApiClients, Timeouts};

/// The time for sending one batch.
const SENDING: Duration = Duration::from_secs(10);
/// Spans that wait to be sent; a run has a few hundred.
const QUEUE: usize = 16_384;

/// Returns the source of spans that go to the collector; `None` when there is none.
///
/// # Errors
/// What is wrong with the settings, one sentence without secrets.
pub fn tracer(settings: &TraceSettings) -> Result<Option<SdkTracerProvider>, String> {
    let Some(endpoint) = &settings.endpoint else { return Ok(None) };
    let timeouts = Timeouts { total: Some(SENDING), ..Timeouts::default() };
    let clients = ApiClients::new(timeouts).map_err(|error| error.to_string())?;
    let headers = settings.headers.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(clients.for_url(endpoint).clone())
        .with_endpoint(endpoint.as_str())
        .with_timeout(SENDING)
        .with_headers(headers.collect())
        .build()
        .map_err(|_| "the address of the collector of traces cannot be used".to_owned())?;
    let sender = Sender { exporter: Arc::new(exporter), runtime: Handle::current() };
    let batches = BatchConfigBuilder::default().with_max_queue_size(QUEUE).build();
    let processor = BatchSpanProcessor::builder(sender).with_batch_config(batches).build();
    let resource = Resource::builder()
        .with_service_name(settings.service_name.clone())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor)
        .with_sampler(Sampler::AlwaysOn)
        .with_id_generator(TraceIds::default())
        .with_resource(resource.build());
    Ok(Some(provider.build()))
}

/// Sends from the process's runtime: the processor has a thread of its own, where our client would find no reactor.
#[derive(Debug)]
struct Sender {
    exporter: Arc<SpanExporter>,
    runtime: Handle,
}

impl sdk::SpanExporter for Sender {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exporter = Arc::clone(&self.exporter);
        let spans = batch.len();
        let sending = AbortOnDropHandle::new(self.runtime.spawn(async move { exporter.export(batch).await }));
        let sent = sending.await.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        if sent.is_err() {
            // The error itself may name the address, which may hold a password.
            tracing::warn!(spans, "spans did not reach the collector of traces and are lost");
        }
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        // Set before the first batch, so nobody shares it yet.
        if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
            exporter.set_resource(resource);
        }
    }
}
