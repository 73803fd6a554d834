// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.TokenStream;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.quarkiverse.langchain4j.cost.CostEstimatorService;
import io.quarkiverse.langchain4j.runtime.listeners.CompletionTextSpanContributor;
import io.quarkiverse.langchain4j.runtime.listeners.PromptTextSpanContributor;
import io.quarkiverse.langchain4j.runtime.listeners.SpanChatModelListener;
import io.quarkiverse.langchain4j.runtime.tool.ToolSpanWrapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Quarkus LangChain4j's tracing with all of its content switched on: Quarkus GROUP [SCENARIO ...]. Its classes for the spans of models and tools are used as they are, over AiServices of
 * LangChain4j instead of an application that Quarkus built; the span around a method of a service is written here as its SpanWrapper writes it. What its jar registers for all of LangChain4j
 * wants Quarkus' container: of the jar only the packages runtime.listeners, runtime.tool and cost, and runtime.LangChain4jUtil, were on the class path.
 */
public final class Quarkus {
  interface Assistant {
    String chat(String message);
  }

  interface Streaming {
    TokenStream chat(String message);
  }

  static OpenTelemetrySdk otel = Recorder.openTelemetry();
  static Tracer tracer = otel.getTracer("io.quarkus.opentelemetry");
  static ToolSpanWrapper wrapper = new ToolSpanWrapper(tracer, true, true);

  static ToolExecutor traced(ToolExecutor executor) {
    return (request, memory) -> wrapper.wrap(request, null,
        (asked, context) -> ToolExecutionResult.builder().resultText(executor.execute(asked, memory)).build(), null).resultText();
  }

  static <T> T assistant(Class<T> kind, Recorder.Task task, String system, List<Recorder.Tool> tools, Recorder.Sub sub, List<Recorder.Message> history) {
    Map<ToolSpecification, ToolExecutor> all = new LinkedHashMap<>();
    for (Recorder.Tool tool : tools) {
      all.put(Langchain4j.specification(tool.name(), tool.description(), tool.parameters().toString()), traced((request, memory) -> tool.text(request.arguments())));
    }
    if (sub != null) {
      Assistant billing = assistant(Assistant.class, task, sub.system(), sub.tools(), null, List.of());
      all.put(Langchain4j.specification(sub.name(), sub.description(), "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}"),
          traced((request, memory) -> service("Billing", () -> billing.chat(Langchain4j.json(request.arguments())))));
    }
    var memory = MessageWindowChatMemory.withMaxMessages(100);
    history.forEach(m -> memory.add(m.role().equals("user") ? UserMessage.from(m.content()) : AiMessage.from(m.content())));
    List<ChatModelListener> listeners = List.of(new SpanChatModelListener(tracer, new CostEstimatorService(List.of()),
        List.of(new PromptTextSpanContributor(true), new CompletionTextSpanContributor(true))));
    var builder = AiServices.builder(kind).systemMessageProvider(id -> system).chatMemory(memory);
    if (!all.isEmpty()) {
      builder.tools(all);
    }
    if (task.maxSteps() > 0) {
      builder.maxSequentialToolsInvocations(task.maxSteps() - 1);
    }
    return (kind == Streaming.class
        ? builder.streamingChatModel(OpenAiStreamingChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).listeners(listeners).build())
        : builder.chatModel(OpenAiChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).listeners(listeners).maxRetries(0).build())).build();
  }

  static <T> T service(String name, java.util.function.Supplier<T> method) {
    Span span = tracer.spanBuilder("langchain4j.aiservices." + name + ".chat").startSpan();
    try (Scope scope = span.makeCurrent()) {
      return method.get();
    } catch (Throwable t) {
      span.recordException(t);
      throw t;
    } finally {
      span.end();
    }
  }

  public static void main(String[] args) throws Exception {
    Recorder.run(args[0], "gpt-4o-mini", List.of(args).subList(1, args.length), task -> service("Assistant", () -> {
      if (!task.stream()) {
        return assistant(Assistant.class, task, task.system(), task.tools(), task.sub(), task.history()).chat(task.user());
      }
      CompletableFuture<String> done = new CompletableFuture<>();
      assistant(Streaming.class, task, task.system(), task.tools(), task.sub(), task.history()).chat(task.user()).onPartialResponse(t -> {})
          .onCompleteResponse(response -> done.complete(response.aiMessage().text())).onError(done::completeExceptionally).start();
      return done.join();
    }), () -> {
      Recorder.pause(300); // the span of a stream ends a moment after its last element has been handed over
      otel.getSdkTracerProvider().forceFlush().join(10, TimeUnit.SECONDS);
    });
  }
}
