// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import io.agentscope.core.ReActAgent;
import io.agentscope.core.memory.InMemoryMemory;
import io.agentscope.core.message.Msg;
import io.agentscope.core.message.MsgRole;
import io.agentscope.core.message.ToolResultBlock;
import io.agentscope.core.model.OpenAIChatModel;
import io.agentscope.core.tool.AgentTool;
import io.agentscope.core.tool.ToolCallParam;
import io.agentscope.core.tool.Toolkit;
import io.agentscope.core.tracing.TracerRegistry;
import io.agentscope.core.tracing.telemetry.TelemetryTracer;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** AgentScope's ReActAgent with its own tracer: AgentScope [SCENARIO ...]. */
public final class AgentScope {
  interface Body {
    String call(Map<String, Object> input) throws Exception;
  }

  record Scripted(String name, String description, Map<String, Object> schema, Body body) implements AgentTool {
    @Override
    public String getName() {
      return name;
    }

    @Override
    public String getDescription() {
      return description;
    }

    @Override
    public Map<String, Object> getParameters() {
      return schema;
    }

    @Override
    public Mono<ToolResultBlock> callAsync(ToolCallParam param) {
      return Mono.fromCallable(() -> ToolResultBlock.text(body.call(param.getInput()))).subscribeOn(Schedulers.boundedElastic());
    }
  }

  static Msg message(String role, String text) {
    return Msg.builder().name(role).role(role.equals("user") ? MsgRole.USER : MsgRole.ASSISTANT).textContent(text).build();
  }

  @SuppressWarnings("unchecked")
  static ReActAgent agent(Recorder.Task task, String name, String system, List<Recorder.Tool> tools, Recorder.Sub sub, List<Recorder.Message> history) {
    Toolkit toolkit = new Toolkit();
    for (Recorder.Tool t : tools) {
      toolkit.registerAgentTool(new Scripted(t.name(), t.description(), Recorder.JSON.convertValue(t.parameters(), Map.class), input -> t.text(Recorder.JSON.writeValueAsString(input))));
    }
    if (sub != null) {
      Map<String, Object> schema = Map.of("type", "object", "properties", Map.of("question", Map.of("type", "string")), "required", List.of("question"));
      toolkit.registerAgentTool(new Scripted(sub.name(), sub.description(), schema,
          input -> agent(task, sub.name(), sub.system(), sub.tools(), null, List.of()).call(List.of(message("user", (String) input.get("question")))).block().getTextContent()));
    }
    InMemoryMemory memory = new InMemoryMemory();
    history.forEach(m -> memory.addMessage(message(m.role(), m.content())));
    return ReActAgent.builder().name(name).sysPrompt(system).toolkit(toolkit).memory(memory).maxIters(task.maxSteps() > 0 ? task.maxSteps() : 20)
        .model(OpenAIChatModel.builder().apiKey("k").baseUrl(Recorder.URL + "/v1").modelName(task.model()).stream(task.stream()).build()).build();
  }

  public static void main(String[] args) throws Exception {
    OpenTelemetrySdk otel = Recorder.openTelemetry();
    TracerRegistry.register(TelemetryTracer.builder().tracer(otel.getTracer("agentscope-java")).build());
    Recorder.run("agentscope-java-otel", "gpt-4o-mini", List.of(args), task ->
        agent(task, "assistant", task.system(), task.tools(), task.sub(), task.history()).call(List.of(message("user", task.user()))).block().getTextContent(),
        () -> {
          pause(300); // its spans end a moment after the answer has been handed over
          otel.getSdkTracerProvider().forceFlush().join(10, TimeUnit.SECONDS);
        });
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
