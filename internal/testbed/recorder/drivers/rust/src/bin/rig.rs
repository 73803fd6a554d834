// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//! Rig's agents, whose spans go through tracing-opentelemetry: rig [SCENARIO ...]. The protocol of the recorder stands in its doc.go.

use drivers::url;
use futures::StreamExt;
use rig::agent::MultiTurnStreamItem;
use rig::client::CompletionClient;
use rig::completion::{Message, Prompt, ToolDefinition};
use rig::providers::openai;
use rig::streaming::StreamingChat;
use rig::tool::{ToolDyn, ToolError};
use serde_json::Value;

struct Scripted {
    tool: Value,
    run: Box<dyn Fn(Value) -> futures::future::BoxFuture<'static, anyhow::Result<String>> + Send + Sync>,
}

impl ToolDyn for Scripted {
    fn name(&self) -> String {
        self.tool["name"].as_str().unwrap().into()
    }

    fn definition<'a>(&'a self, _: String) -> rig::wasm_compat::WasmBoxedFuture<'a, ToolDefinition> {
        let definition = ToolDefinition { name: self.name(), description: self.tool["description"].as_str().unwrap().into(), parameters: self.tool["parameters"].clone() };
        Box::pin(async move { definition })
    }

    fn call<'a>(&'a self, args: String) -> rig::wasm_compat::WasmBoxedFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let result = (self.run)(serde_json::from_str(&args)?).await;
            result.map_err(|e| ToolError::ToolCallError(e.to_string().into()))
        })
    }
}

fn scripted(tool: &Value) -> Box<dyn ToolDyn> {
    let name = tool["name"].as_str().unwrap().to_string();
    Box::new(Scripted { tool: tool.clone(), run: Box::new(move |args| drivers::tool(name.clone(), args)) })
}

fn agent(name: &str, model: &str, system: &str, tools: Vec<Box<dyn ToolDyn>>) -> rig::agent::Agent<openai::completion::CompletionModel> {
    let client = openai::Client::builder().api_key("k").base_url(url() + "/v1").build().unwrap().completions_api();
    client.agent(model).name(name).preamble(system).tools(tools).build()
}

async fn run(task: Value) -> anyhow::Result<String> {
    let model = task["model"].as_str().unwrap().to_string();
    let mut tools: Vec<Box<dyn ToolDyn>> = task["tools"].as_array().unwrap_or(&vec![]).iter().map(scripted).collect();
    if task["sub"].is_object() {
        let (sub, model) = (task["sub"].clone(), model.clone());
        let definition = sub.clone();
        let billing = move |args: Value| -> futures::future::BoxFuture<'static, anyhow::Result<String>> {
            let (sub, model) = (sub.clone(), model.clone());
            Box::pin(async move {
                let tools = sub["tools"].as_array().unwrap().iter().map(scripted).collect();
                let billing = agent(sub["name"].as_str().unwrap(), &model, sub["system"].as_str().unwrap(), tools);
                Ok(billing.prompt(args["question"].as_str().unwrap_or_default()).max_turns(10).await?)
            })
        };
        tools.push(Box::new(Scripted { tool: definition, run: Box::new(billing) }));
    }
    let main = agent("assistant", &model, task["system"].as_str().unwrap(), tools);
    let turns = match task["max_steps"].as_u64().unwrap_or(0) { 0 => 20, n => n as usize - 1 };
    let mut history: Vec<Message> = task["history"].as_array().unwrap().iter().map(|m| {
        let content = m["content"].as_str().unwrap();
        if m["role"] == "user" { Message::user(content) } else { Message::assistant(content) }
    }).collect();
    let user = task["user"].as_str().unwrap();
    if !task["stream"].as_bool().unwrap_or(false) {
        return Ok(main.prompt(user).with_history(&mut history).max_turns(turns).await?);
    }
    let (mut stream, mut said) = (main.stream_chat(user, history).multi_turn(turns).await, String::new());
    while let Some(item) = stream.next().await {
        if let MultiTurnStreamItem::FinalResponse(last) = item? {
            said = last.response().to_string();
        }
    }
    Ok(said)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    drivers::run("rig-otel", "gpt-4o-mini", &["rig"], run).await
}
