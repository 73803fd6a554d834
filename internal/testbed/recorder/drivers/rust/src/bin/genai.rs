// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//! A loop over the genai crate with the spans of its feature otel, those of agent and tools opened as its documents say: genai [SCENARIO ...], with
//! OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true; MODEL names another model than gpt-4o-mini.

use drivers::url;
use futures::StreamExt;
use futures::future::BoxFuture;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, MessageContent, Tool, ToolCall, ToolResponse};
use genai::otel::agent::{AgentSpan, ExecuteToolSpan, execute_tool_span, set_error};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};
use tracing::Instrument;

fn client() -> anyhow::Result<Client> {
    let resolver = ServiceTargetResolver::from_resolver_fn(|target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
        let name = target.model.model_name;
        let kind = if name.starts_with("claude") { AdapterKind::Anthropic } else if name.starts_with("gemini") { AdapterKind::Gemini } else { AdapterKind::OpenAI };
        let base = if kind == AdapterKind::Gemini { url() + "/v1beta/" } else { url() + "/v1/" };
        Ok(ServiceTarget { endpoint: Endpoint::from_owned(base), auth: AuthData::from_single("k"), model: ModelIden::new(kind, name) })
    });
    Ok(Client::builder().with_service_target_resolver(resolver).build()?)
}

fn define(tool: &Value) -> Tool {
    Tool::new(tool["name"].as_str().unwrap().to_string()).with_description(tool["description"].as_str().unwrap()).with_schema(tool["parameters"].clone())
}

async fn ask(client: &Client, model: &str, request: ChatRequest, stream: bool) -> anyhow::Result<MessageContent> {
    if !stream {
        return Ok(client.exec_chat(model, request, None).await?.content);
    }
    let options = ChatOptions::default().with_capture_content(true).with_capture_tool_calls(true);
    let (mut events, mut whole) = (client.exec_chat_stream(model, request, Some(&options)).await?.stream, None);
    while let Some(event) = events.next().await {
        if let ChatStreamEvent::End(end) = event? {
            whole = end.captured_content;
        }
    }
    whole.ok_or(anyhow::anyhow!("an empty stream"))
}

fn agent(task: Value, name: String, system: String, tools: Vec<Value>, sub: Value, history: Vec<Value>, user: String) -> BoxFuture<'static, anyhow::Result<String>> {
    let model = task["model"].as_str().unwrap().to_string();
    let span = AgentSpan::invoke_agent().internal().with_name(name).with_model(model.clone()).start();
    let failed = span.clone();
    let body = async move {
        let client = client()?;
        let mut request = ChatRequest::from_system(system);
        for m in &history {
            let content = m["content"].as_str().unwrap();
            request = request.append_message(if m["role"] == "user" { ChatMessage::user(content) } else { ChatMessage::assistant(content) });
        }
        request = request.append_message(ChatMessage::user(user));
        let mut all: Vec<Tool> = tools.iter().map(define).collect();
        if sub.is_object() {
            all.push(define(&json!({"name": sub["name"], "description": sub["description"],
                "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}})));
        }
        if !all.is_empty() {
            request = request.with_tools(all);
        }
        let most = task["max_steps"].as_u64().unwrap_or(0);
        for step in 1.. {
            if most > 0 && step > most {
                anyhow::bail!("no more steps");
            }
            let content = ask(&client, &model, request.clone(), task["stream"].as_bool().unwrap_or(false)).await?;
            let calls: Vec<ToolCall> = content.tool_calls().into_iter().cloned().collect();
            if calls.is_empty() {
                return Ok(content.into_texts().concat());
            }
            request = request.append_message(ChatMessage::assistant(content));
            let running = calls.iter().map(|c| {
                let span = execute_tool_span(c);
                let (c, task, sub, known, done) = (c.clone(), task.clone(), sub.clone(), tools.iter().any(|t| t["name"] == c.fn_name.as_str()), span.clone());
                async move {
                    let result = if sub.is_object() && sub["name"] == c.fn_name.as_str() {
                        let question = c.fn_arguments["question"].as_str().unwrap_or_default().to_string();
                        let theirs = sub["tools"].as_array().unwrap().clone();
                        agent(task, c.fn_name.clone(), sub["system"].as_str().unwrap().into(), theirs, Value::Null, vec![], question).await
                    } else if known {
                        drivers::tool(c.fn_name.clone(), c.fn_arguments.clone()).await
                    } else {
                        Err(anyhow::anyhow!("no tool {}", c.fn_name))
                    };
                    match result {
                        Ok(text) => {
                            ExecuteToolSpan::record_result(&done, &text);
                            text
                        }
                        Err(e) => {
                            set_error(&done, "tool_error");
                            format!("Error: {e}")
                        }
                    }
                }
                .instrument(span)
            });
            for (c, text) in calls.iter().zip(futures::future::join_all(running).await) {
                request = request.append_message(ToolResponse::from_tool_call(c, text));
            }
        }
        unreachable!()
    };
    Box::pin(async move {
        let result = body.instrument(span).await;
        if result.is_err() {
            set_error(&failed, "agent_error");
        }
        result
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = std::env::var("MODEL").unwrap_or("gpt-4o-mini".into());
    drivers::run("genai-rs-otel", &model, &["genai"], |task| {
        let (system, user) = (task["system"].as_str().unwrap().to_string(), task["user"].as_str().unwrap().to_string());
        let (tools, history) = (task["tools"].as_array().cloned().unwrap_or_default(), task["history"].as_array().cloned().unwrap_or_default());
        let sub = task["sub"].clone();
        agent(task, "assistant".into(), system, tools, sub, history, user)
    })
    .await
}
