// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.alibaba.cloud.ai.graph.CompileConfig;
import com.alibaba.cloud.ai.graph.agent.ReactAgent;
import com.alibaba.cloud.ai.graph.observation.GraphObservationLifecycleListener;
import io.micrometer.observation.ObservationRegistry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;

/** The agent of Spring AI Alibaba (a graph) in a Spring Boot application, with the observations of the graph and of Spring AI: SpringAlibaba graph|plain [SCENARIO ...]. */
@SpringBootConfiguration
@EnableAutoConfiguration
public class SpringAlibaba {
  static ConfigurableApplicationContext context;
  static boolean graph;

  static ReactAgent agent(Recorder.Task task, String name, String system, List<Recorder.Tool> tools, Recorder.Sub sub) throws Exception {
    List<ToolCallback> all = new ArrayList<>();
    for (Recorder.Tool t : tools) {
      all.add(SpringAi.tool(t.name(), t.description(), t.parameters().toString(), arguments -> t.call(arguments).toString()));
    }
    if (sub != null) {
      all.add(SpringAi.tool(sub.name(), sub.description(), "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}", arguments -> {
        try {
          return agent(task, sub.name(), sub.system(), sub.tools(), null).call(Recorder.JSON.readTree(arguments).get("question").asText()).getText();
        } catch (RuntimeException e) {
          throw e;
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      }));
    }
    ObservationRegistry registry = context.getBean(ObservationRegistry.class);
    var builder = ReactAgent.builder().name(name).model(context.getBean(ChatModel.class)).systemPrompt(system).tools(all).observationRegistry(registry);
    var config = CompileConfig.builder().recursionLimit(task.maxSteps() > 0 ? 2 * task.maxSteps() : 50);
    if (graph) {
      config.observationRegistry(registry).withLifecycleListener(new GraphObservationLifecycleListener(registry));
    }
    return builder.compileConfig(config.build()).build();
  }

  public static void main(String[] args) throws Exception {
    graph = args[0].equals("graph");
    SpringApplication app = new SpringApplication(SpringAlibaba.class);
    app.setDefaultProperties(Map.ofEntries(
        Map.entry("spring.main.web-application-type", "none"), Map.entry("spring.application.name", "alibaba-agent"), Map.entry("spring.ai.model.chat", "openai"),
        Map.entry("spring.ai.model.embedding", "none"), Map.entry("spring.ai.model.image", "none"), Map.entry("spring.ai.model.moderation", "none"),
        Map.entry("spring.ai.model.audio.speech", "none"), Map.entry("spring.ai.model.audio.transcription", "none"),
        Map.entry("spring.ai.openai.api-key", "k"), Map.entry("spring.ai.openai.base-url", Recorder.URL), Map.entry("spring.ai.retry.max-attempts", "1"),
        Map.entry("spring.ai.openai.chat.options.model", "gpt-4o-mini"), Map.entry("spring.ai.tools.observations.include-content", "true"),
        Map.entry("spring.ai.chat.observations.log-prompt", "true"), Map.entry("spring.ai.chat.observations.log-completion", "true"),
        Map.entry("spring.ai.chat.client.observations.log-prompt", "true"), Map.entry("management.tracing.sampling.probability", "1"),
        Map.entry("management.otlp.tracing.endpoint", Recorder.URL + "/v1/traces"), Map.entry("management.otlp.logging.endpoint", Recorder.URL + "/v1/logs"),
        Map.entry("management.otlp.metrics.export.enabled", "false")));
    context = app.run();
    Around.otel = context.getBean(OpenTelemetry.class);
    SpringAi.logs(Around.otel);
    Recorder.run("spring-ai-alibaba-" + args[0], "gpt-4o-mini", List.of(args).subList(1, args.length), task -> {
      List<Message> messages = new ArrayList<>();
      task.history().forEach(m -> messages.add(m.role().equals("user") ? new UserMessage(m.content()) : new AssistantMessage(m.content())));
      messages.add(new UserMessage(task.user()));
      return agent(task, "assistant", task.system(), task.tools(), task.sub()).call(messages).getText();
    }, () -> {
      Recorder.pause(300);
      context.getBean(SdkTracerProvider.class).forceFlush().join(10, TimeUnit.SECONDS);
      context.getBean(io.opentelemetry.sdk.logs.SdkLoggerProvider.class).forceFlush().join(10, TimeUnit.SECONDS);
    });
    context.close();
  }
}
