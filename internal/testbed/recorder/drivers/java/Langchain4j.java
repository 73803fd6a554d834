// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.JsonNode;
import dev.braintrust.instrumentation.langchain.BraintrustLangchain;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.anthropic.AnthropicStreamingChatModel;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.TokenStream;
import dev.langchain4j.service.tool.ToolExecutor;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** LangChain4j's AiServices: Langchain4j braintrust|listener openai|anthropic [SCENARIO ...]. */
public final class Langchain4j {
  interface Assistant {
    String chat(String message);
  }

  interface Streaming {
    TokenStream chat(String message);
  }

  static OpenTelemetrySdk otel = Recorder.openTelemetry();
  static String instrumentation;
  static boolean anthropic;

  static ChatModel model(Recorder.Task task) {
    List<ChatModelListener> listeners = instrumentation.equals("listener") ? List.of(new SpanListener(otel)) : List.of();
    if (anthropic) {
      return AnthropicChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).listeners(listeners).maxRetries(0).build();
    }
    var builder = OpenAiChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).listeners(listeners).maxRetries(0);
    return builder.build();
  }

  static StreamingChatModel streaming(Recorder.Task task) {
    List<ChatModelListener> listeners = instrumentation.equals("listener") ? List.of(new SpanListener(otel)) : List.of();
    if (anthropic) {
      return AnthropicStreamingChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).listeners(listeners).build();
    }
    return OpenAiStreamingChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).listeners(listeners).build();
  }

  static <T> T assistant(Class<T> kind, Recorder.Task task, String system, List<Recorder.Tool> tools, Recorder.Sub sub) {
    Map<ToolSpecification, ToolExecutor> all = new LinkedHashMap<>();
    for (Recorder.Tool tool : tools) {
      all.put(specification(tool.name(), tool.description(), tool.parameters().toString()), traced(tool.name(), (request, memory) -> tool.text(request.arguments())));
    }
    if (sub != null) {
      Assistant billing = assistant(Assistant.class, task, sub.system(), sub.tools(), null);
      all.put(specification(sub.name(), sub.description(), "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}"),
          traced(sub.name(), (request, memory) -> billing.chat(json(request.arguments()))));
    }
    ChatMemory memory = MessageWindowChatMemory.withMaxMessages(100);
    for (Recorder.Message m : sub == null && system.equals(task.system()) ? task.history() : List.<Recorder.Message>of()) {
      memory.add(m.role().equals("user") ? UserMessage.from(m.content()) : AiMessage.from(m.content()));
    }
    var builder = AiServices.builder(kind).systemMessageProvider(id -> system).chatMemory(memory);
    if (!all.isEmpty()) {
      builder.tools(all);
    }
    if (task.maxSteps() > 0) {
      builder.maxSequentialToolsInvocations(task.maxSteps() - 1);
    }
    builder = kind == Streaming.class ? builder.streamingChatModel(streaming(task)) : builder.chatModel(model(task));
    return instrumentation.equals("braintrust") ? BraintrustLangchain.wrap(otel, builder) : builder.build();
  }

  static ToolExecutor traced(String name, ToolExecutor executor) {
    return instrumentation.equals("listener") ? SpanListener.tool(otel, name, executor) : executor;
  }

  static String json(String arguments) {
    try {
      return Recorder.JSON.readTree(arguments).get("question").asText();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static ToolSpecification specification(String name, String description, String schema) {
    try {
      JsonNode doc = Recorder.JSON.readTree(schema);
      var object = JsonObjectSchema.builder();
      doc.get("properties").properties().forEach(p -> object.addProperty(p.getKey(), JsonRawSchema.from(p.getValue().toString())));
      List<String> required = new java.util.ArrayList<>();
      doc.get("required").forEach(r -> required.add(r.asText()));
      return ToolSpecification.builder().name(name).description(description).parameters(object.required(required).build()).build();
    } catch (java.io.IOException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    instrumentation = args[0];
    anthropic = args[1].equals("anthropic");
    Recorder.run("langchain4j-" + args[0] + "-" + args[1], anthropic ? "claude-sonnet-4-5" : "gpt-4o-mini", List.of(args).subList(2, args.length), task -> {
      if (!task.stream()) {
        Assistant assistant = assistant(Assistant.class, task, task.system(), task.tools(), task.sub());
        return instrumentation.equals("listener") ? SpanListener.agent(otel, "assistant", task.user(), () -> assistant.chat(task.user())) : assistant.chat(task.user());
      }
      CompletableFuture<String> done = new CompletableFuture<>();
      assistant(Streaming.class, task, task.system(), task.tools(), task.sub()).chat(task.user()).onPartialResponse(t -> {})
          .onCompleteResponse(response -> done.complete(response.aiMessage().text())).onError(done::completeExceptionally).start();
      String said = done.get();
      Recorder.pause(300); // the span of a stream ends a moment after its last element has been handed over
      return said;
    }, () -> otel.getSdkTracerProvider().forceFlush().join(10, java.util.concurrent.TimeUnit.SECONDS));
  }
}
