// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import ai.koog.agents.core.agent.AIAgent
import ai.koog.agents.core.agent.GraphAIAgent
import ai.koog.agents.core.agent.config.AIAgentConfig
import ai.koog.agents.core.tools.Tool
import ai.koog.agents.core.tools.ToolDescriptor
import ai.koog.agents.core.tools.ToolParameterDescriptor
import ai.koog.agents.core.tools.ToolParameterType
import ai.koog.agents.core.tools.ToolRegistry
import ai.koog.agents.features.opentelemetry.feature.OpenTelemetry
import ai.koog.http.client.ktor.KtorKoogHttpClient
import ai.koog.prompt.dsl.prompt
import ai.koog.prompt.executor.clients.openai.OpenAIClientSettings
import ai.koog.prompt.executor.clients.openai.OpenAILLMClient
import ai.koog.prompt.executor.clients.openai.OpenAIModels
import ai.koog.prompt.executor.llms.MultiLLMPromptExecutor
import ai.koog.serialization.typeToken
import com.fasterxml.jackson.databind.JsonNode
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonObject

/** JetBrains Koog: Koog otel|langfuse|weave [SCENARIO ...]. */
class Scripted(descriptor: ToolDescriptor, private val body: suspend (String) -> String) : Tool<JsonObject, String>(typeToken<JsonObject>(), typeToken<String>(), descriptor) {
  override suspend fun execute(args: JsonObject): String = body(args.toString())
}

fun type(schema: JsonNode): ToolParameterType = when (schema["type"].asText()) {
  "integer" -> ToolParameterType.Integer
  "array" -> ToolParameterType.List(ToolParameterType.String)
  "object" -> ToolParameterType.Object(emptyList(), emptyList(), true)
  else -> ToolParameterType.String
}

fun descriptor(name: String, description: String, schema: JsonNode): ToolDescriptor {
  val all = schema["properties"].properties().map { ToolParameterDescriptor(it.key, "", type(it.value)) }
  val required = schema["required"].map { it.asText() }
  return ToolDescriptor(name, description, all.filter { it.name in required }, all.filter { it.name !in required })
}

fun agent(instrumentation: String, task: Recorder.Task, system: String, tools: List<Recorder.Tool>, sub: Recorder.Sub?, history: List<Recorder.Message>): GraphAIAgent<String, String> {
  val client = OpenAILLMClient("k", OpenAIClientSettings(Recorder.URL), KtorKoogHttpClient.Factory())
  val all = tools.map { t -> Scripted(descriptor(t.name, t.description, t.parameters)) { t.text(it) } }.toMutableList()
  if (sub != null) {
    val schema = Recorder.JSON.readTree("""{"properties":{"question":{"type":"string"}},"required":["question"]}""")
    all += Scripted(descriptor(sub.name, sub.description, schema)) {
      val billing = agent(instrumentation, task, sub.system, sub.tools, null, emptyList())
      try { billing.run(Recorder.JSON.readTree(it)["question"].asText()) } finally { billing.close() }
    }
  }
  val start = prompt("assistant") {
    system(system)
    history.forEach { if (it.role == "user") user(it.content) else assistant(it.content) }
  }
  return AIAgent(
    promptExecutor = MultiLLMPromptExecutor(client),
    agentConfig = AIAgentConfig(prompt = start, model = OpenAIModels.Chat.GPT4oMini, maxAgentIterations = if (task.maxSteps > 0) 2 * task.maxSteps + 1 else 50),
    toolRegistry = ToolRegistry { all.forEach { tool(it) } },
  ) {
    install(OpenTelemetry) {
      setServiceInfo("koog-agent", "1.0.0")
      setVerbose(true)
      when (instrumentation) {
        "langfuse" -> addLangfuseExporter(Recorder.URL, "pk", "sk")
        "weave" -> addWeaveExporter(Recorder.URL, "entity", "project", "key")
        else -> addSpanExporter(OtlpHttpSpanExporter.builder().setEndpoint(Recorder.URL + "/v1/traces").build())
      }
    }
  }
}

fun main(args: Array<String>) {
  Recorder.openTelemetry() // of what the application writes itself; Koog makes its own
  Recorder.run("koog-" + args[0], "gpt-4o-mini", args.drop(1), { task ->
    runBlocking {
      val agent = agent(args[0], task, task.system, task.tools, task.sub, task.history)
      try { agent.run(task.user) } finally { agent.close() }
    }
  }, { Thread.sleep(6_000) }) // its exporter sends batches, and can only be made to by an end of the process
}
