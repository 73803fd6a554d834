// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//! The protocol of the recorder (see its doc.go) for drivers in Rust.

use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithExportConfig;
use serde_json::{Value, json};
use tracing::Instrument;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;

pub fn url() -> String {
    std::env::var("RECORDER").unwrap_or("http://127.0.0.1:4900".into())
}

pub fn call(path: &str, body: Option<Value>) -> anyhow::Result<Value> {
    let target = url() + path;
    let response = match body {
        Some(body) => ureq::post(&target).send_json(body),
        None => ureq::get(&target).call(),
    };
    Ok(response?.into_json()?)
}

/// What a tool returns as text: a text as it is, anything else as JSON.
pub fn text(result: &Value) -> String {
    result.as_str().map(String::from).unwrap_or(result.to_string())
}

/// Runs the tool with a JSON object.
pub fn tool(name: String, arguments: Value) -> BoxFuture<'static, anyhow::Result<String>> {
    Box::pin(async move {
        let (path, input, given) = (format!("/tool/{name}"), arguments.to_string(), arguments);
        inside(true, name, input, async move {
            let answer = tokio::task::spawn_blocking(move || call(&path, Some(given))).await??;
            if let Some(error) = answer["error"].as_str() {
                anyhow::bail!("{error}");
            }
            Ok(text(&answer["result"]))
        })
        .await
    })
}

fn said(role: &str, text: &str) -> String {
    json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
}

/// The span of an application around its agent (or of a tool), in the style that AROUND names: own, io, semconv or nocontent; without it there is none.
async fn inside(tool: bool, name: String, input: String, body: impl Future<Output = anyhow::Result<String>>) -> anyhow::Result<String> {
    let style = std::env::var("AROUND").unwrap_or_default();
    if style.is_empty() {
        return body.await;
    }
    let title = match (style.as_str(), tool) {
        ("own", true) => format!("tool.{name}"),
        ("own", false) => "agent.run".into(),
        ("semconv" | "nocontent", true) => format!("execute_tool {name}"),
        ("semconv" | "nocontent", false) => format!("invoke_agent {name}"),
        _ => name.clone(),
    };
    let span = tracing::info_span!(target: "app", "app", otel.name = title, otel.status_code = tracing::field::Empty);
    match (style.as_str(), tool) {
        ("own", true) => {
            span.set_attribute("tool.name", name);
            span.set_attribute("tool.args", input);
        }
        ("own", false) => span.set_attribute("app.question", input),
        ("io", _) => span.set_attribute("input", input),
        ("semconv" | "nocontent", true) => {
            span.set_attribute("gen_ai.operation.name", "execute_tool");
            span.set_attribute("gen_ai.tool.name", name);
            if style == "semconv" {
                span.set_attribute("gen_ai.tool.call.arguments", input);
            }
        }
        ("semconv" | "nocontent", false) => {
            span.set_attribute("gen_ai.operation.name", "invoke_agent");
            span.set_attribute("gen_ai.agent.name", name);
            if style == "semconv" {
                span.set_attribute("gen_ai.input.messages", said("user", &input));
            }
        }
        _ => {}
    }
    let result = body.instrument(span.clone()).await;
    match (&result, style.as_str(), tool) {
        (Err(_), _, _) => {
            span.record("otel.status_code", "ERROR");
        }
        (Ok(text), "own", true) => span.set_attribute("tool.result", text.clone()),
        (Ok(text), "own", false) => span.set_attribute("app.answer", text.clone()),
        (Ok(text), "io", _) => span.set_attribute("output", text.clone()),
        (Ok(text), "semconv", true) => span.set_attribute("gen_ai.tool.call.result", text.clone()),
        (Ok(text), "semconv", false) => span.set_attribute("gen_ai.output.messages", said("assistant", text)),
        _ => {}
    }
    result
}

/// Runs all scenarios, or those named on the command line; the spans of the targets go through tracing-opentelemetry. GROUP in the environment is another name for what is
/// recorded.
pub async fn run<F: Future<Output = anyhow::Result<String>>>(group: &str, model: &str, targets: &[&'static str], agent: impl Fn(Value) -> F) -> anyhow::Result<()> {
    let group = std::env::var("GROUP").unwrap_or(group.into());
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().with_endpoint(url() + "/v1/traces").with_timeout(Duration::from_secs(10)).build()?;
    let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    let mut filter = tracing_subscriber::filter::Targets::new().with_target("app", tracing::Level::INFO);
    for target in targets {
        filter = filter.with_target(*target, tracing::Level::INFO);
    }
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(targets[0]));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(filter).with(layer))?;
    let only: Vec<String> = std::env::args().skip(1).collect();
    for scenario in call("/scenarios", None)?.as_array().unwrap() {
        if !only.is_empty() && !only.iter().any(|s| s == scenario) {
            continue;
        }
        let task = call("/begin", Some(json!({"group": group, "scenario": scenario, "model": model})))?;
        let user = task["user"].as_str().unwrap().to_string();
        let (output, error) = match inside(false, "assistant".into(), user, agent(task)).await {
            Ok(output) => (Some(output), None),
            Err(e) => (None, Some(e.to_string())),
        };
        let flushed = provider.clone();
        tokio::task::spawn_blocking(move || flushed.force_flush()).await??;
        eprintln!("{scenario} {} {error:?}", call("/end", Some(json!({"output": output, "error": error})))?);
    }
    Ok(())
}
