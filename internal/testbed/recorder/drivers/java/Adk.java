// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.google.adk.agents.BaseAgent;
import com.google.adk.agents.LlmAgent;
import com.google.adk.agents.RunConfig;
import com.google.adk.events.Event;
import com.google.adk.models.Gemini;
import com.google.adk.runner.InMemoryRunner;
import com.google.adk.sessions.Session;
import com.google.adk.tools.AgentTool;
import com.google.adk.tools.BaseTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.Client;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionDeclaration;
import com.google.genai.types.HttpOptions;
import com.google.genai.types.Part;
import com.google.genai.types.Schema;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Google's Agent Development Kit for Java beside Gemini, with its own spans: Adk GROUP [SCENARIO ...]. */
public final class Adk {
  static final class Scripted extends BaseTool {
    private final Recorder.Tool tool;

    Scripted(Recorder.Tool tool) {
      super(tool.name(), tool.description());
      this.tool = tool;
    }

    @Override
    public Optional<FunctionDeclaration> declaration() {
      return Optional.of(FunctionDeclaration.builder().name(name()).description(description()).parametersJsonSchema(Recorder.JSON.convertValue(tool.parameters(), Map.class)).build());
    }

    @Override
    @SuppressWarnings("unchecked")
    public Single<Map<String, Object>> runAsync(Map<String, Object> arguments, ToolContext context) {
      return Single.fromCallable(() -> {
        Object value = tool.value(Recorder.JSON.writeValueAsString(arguments));
        if (value instanceof Map) {
          return (Map<String, Object>) value;
        }
        Map<String, Object> wrapped = new HashMap<>(); // as FunctionTool does
        wrapped.put("result", value);
        return wrapped;
      }).subscribeOn(Schedulers.io());
    }
  }

  static BaseAgent agent(Client client, Recorder.Task task, String name, String description, String system, List<Recorder.Tool> tools, Recorder.Sub sub) {
    List<Object> all = new ArrayList<>();
    tools.forEach(t -> all.add(new Scripted(t)));
    var builder = LlmAgent.builder().name(name).description(description).instruction(system).model(Gemini.builder().modelName(task.model()).apiClient(client).build());
    if (sub != null) {
      all.add(AgentTool.create(agent(client, task, sub.name(), sub.description(), sub.system(), sub.tools(), null)));
    }
    if (sub == null && !system.equals(task.system())) {
      builder.inputSchema(Schema.builder().type("OBJECT").properties(Map.of("question", Schema.builder().type("STRING").build())).required(List.of("question")).build());
    }
    return builder.tools(all).build();
  }

  public static void main(String[] args) throws Exception {
    OpenTelemetrySdk otel = Recorder.openTelemetry();
    GlobalOpenTelemetry.set(otel);
    Client client = Client.builder().apiKey("k").httpOptions(HttpOptions.builder().baseUrl(Recorder.URL).build()).build();
    Recorder.run(args[0], "gemini-2.5-flash", List.of(args).subList(1, args.length), task -> {
      InMemoryRunner runner = new InMemoryRunner(agent(client, task, "assistant", "", task.system(), task.tools(), task.sub()), "recorded");
      Session session = runner.sessionService().createSession("recorded", "user").blockingGet();
      for (Recorder.Message m : task.history()) {
        boolean user = m.role().equals("user");
        Content content = Content.builder().role(user ? "user" : "model").parts(Part.fromText(m.content())).build();
        runner.sessionService().appendEvent(session, Event.builder().id(Event.generateEventId()).author(user ? "user" : "assistant").content(content).build()).blockingGet();
      }
      RunConfig config = RunConfig.builder().streamingMode(task.stream() ? RunConfig.StreamingMode.SSE : RunConfig.StreamingMode.NONE).maxLlmCalls(task.maxSteps() > 0 ? task.maxSteps() : 500).build();
      String[] said = {""};
      runner.runAsync("user", session.id(), Content.fromParts(Part.fromText(task.user())), config).blockingForEach(event -> {
        event.errorMessage().ifPresent(e -> {
          throw new IllegalStateException(e);
        });
        if (event.finalResponse() && !event.partial().orElse(false) && event.content().isPresent()) {
          said[0] = event.stringifyContent();
        }
      });
      return said[0];
    }, () -> otel.getSdkTracerProvider().forceFlush().join(10, TimeUnit.SECONDS));
  }
}
