// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.openai.OpenAiChatModel;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.bsc.langgraph4j.CompileConfig;
import org.bsc.langgraph4j.StateGraph;
import org.bsc.langgraph4j.agentexecutor.AgentExecutor;
import org.bsc.langgraph4j.otel.OTELWrapCallTraceHook;

/**
 * LangGraph4j's agent executor with its own hook for OpenTelemetry, which writes what state each node was given and returned: Langgraph4j json|std|listener [SCENARIO ...]. json and std are
 * the serializers of the state; listener has beside the first a listener on the model, which leaves a span for each call. Its hook 1.8.3 names a class that core 1.8.17 has in another
 * package: it was compiled from its sources with that one import changed.
 */
public final class Langgraph4j {
  static OpenTelemetrySdk otel = Recorder.openTelemetry();
  static String kind;

  static String ask(Recorder.Task task, String system, List<Recorder.Tool> tools, Recorder.Sub sub, List<Recorder.Message> history, String user) throws Exception {
    List<dev.langchain4j.model.chat.listener.ChatModelListener> listeners = kind.equals("listener") ? List.of(new SpanListener(otel)) : List.of();
    var model = OpenAiChatModel.builder().baseUrl(Recorder.URL + "/v1").apiKey("k").modelName(task.model()).maxRetries(0).listeners(listeners).build();
    var serializer = (kind.equals("std") ? AgentExecutor.Serializers.STD : AgentExecutor.Serializers.JSON).object();
    var builder = AgentExecutor.builder().chatModel(model).systemMessage(SystemMessage.from(system)).stateSerializer(serializer);
    for (Recorder.Tool tool : tools) {
      builder.tool(Langchain4j.specification(tool.name(), tool.description(), tool.parameters().toString()), (request, memory) -> tool.text(request.arguments()));
    }
    if (sub != null) {
      builder.tool(Langchain4j.specification(sub.name(), sub.description(), "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}"), (request, memory) -> {
        try {
          return ask(task, sub.system(), sub.tools(), null, List.of(), Langchain4j.json(request.arguments()));
        } catch (RuntimeException e) {
          throw e;
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      });
    }
    StateGraph<AgentExecutor.State> graph = builder.build();
    var hook = new OTELWrapCallTraceHook<AgentExecutor.State>(serializer);
    graph.addWrapCallNodeHook(hook);
    graph.addWrapCallEdgeHook(hook);
    var compiled = graph.compile(CompileConfig.builder().recursionLimit(task.maxSteps() > 0 ? 2 * task.maxSteps() : 50).build());
    List<ChatMessage> messages = new ArrayList<>();
    history.forEach(m -> messages.add(m.role().equals("user") ? UserMessage.from(m.content()) : AiMessage.from(m.content())));
    messages.add(UserMessage.from(user));
    return compiled.invoke(Map.of("messages", messages)).flatMap(AgentExecutor.State::finalResponse).orElse(null);
  }

  public static void main(String[] args) throws Exception {
    kind = args[0];
    GlobalOpenTelemetry.set(otel);
    Recorder.run("langgraph4j-" + kind, "gpt-4o-mini", List.of(args).subList(1, args.length), task -> {
      var span = otel.getTracer("LG4J").spanBuilder("assistant").startSpan(); // what its setup shows around an invocation
      try (Scope scope = span.makeCurrent()) {
        return ask(task, task.system(), task.tools(), task.sub(), task.history(), task.user());
      } finally {
        span.end();
      }
    }, () -> otel.getSdkTracerProvider().forceFlush().join(10, TimeUnit.SECONDS));
  }
}
