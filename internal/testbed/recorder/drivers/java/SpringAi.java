// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import ch.qos.logback.classic.LoggerContext;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.ObservationFilter;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.instrumentation.logback.appender.v1_0.OpenTelemetryAppender;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.LoggerFactory;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.observation.ChatModelObservationContext;
import org.springframework.ai.observation.ObservabilityHelper;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.ai.tool.definition.ToolDefinition;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/**
 * Spring AI's ChatClient in a Spring Boot application, with log records bridged by the Logback appender: SpringAi VERSION openai|anthropic [SCENARIO ...]. FILTER in the environment writes
 * prompt and completion into the spans instead, with the filter of observations that the guide of Langfuse shows.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
public class SpringAi {
  @Bean
  ObservationFilter content() {
    return context -> {
      if (System.getenv("FILTER") != null && context instanceof ChatModelObservationContext chat) {
        chat.addHighCardinalityKeyValue(KeyValue.of("gen_ai.prompt", ObservabilityHelper.concatenateStrings(chat.getRequest().getInstructions().stream().map(Message::getText).toList())));
        List<String> said = chat.getResponse() == null ? List.of()
            : chat.getResponse().getResults().stream().map(g -> g.getOutput().getText()).filter(t -> t != null && !t.isBlank()).toList();
        chat.addHighCardinalityKeyValue(KeyValue.of("gen_ai.completion", ObservabilityHelper.concatenateStrings(said)));
      }
      return context;
    };
  }

  interface Body {
    String call(String arguments);
  }

  static ToolCallback tool(String name, String description, String schema, Body body) {
    ToolDefinition definition = ToolDefinition.builder().name(name).description(description).inputSchema(schema).build();
    return new ToolCallback() {
      @Override
      public ToolDefinition getToolDefinition() {
        return definition;
      }

      @Override
      public String call(String arguments) {
        try {
          return body.call(arguments);
        } catch (Recorder.ToolError e) {
          throw new org.springframework.ai.tool.execution.ToolExecutionException(definition, e);
        }
      }
    };
  }

  static ToolCallback[] tools(ChatClient.Builder builder, List<Recorder.Tool> tools, Recorder.Sub sub) {
    List<ToolCallback> all = new ArrayList<>();
    for (Recorder.Tool t : tools) {
      all.add(tool(t.name(), t.description(), t.parameters().toString(), arguments -> t.call(arguments).toString())); // as its converter of results does
    }
    if (sub != null) {
      String schema = "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}";
      ChatClient billing = builder.clone().build();
      all.add(tool(sub.name(), sub.description(), schema, arguments -> {
        try {
          String question = Recorder.JSON.readTree(arguments).get("question").asText();
          return Recorder.JSON.writeValueAsString(billing.prompt().system(sub.system()).user(question).toolCallbacks(tools(builder, sub.tools(), null)).call().content());
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
          throw new IllegalStateException(e);
        }
      }));
    }
    return all.toArray(new ToolCallback[0]);
  }

  /** Bridges the log records of the application. */
  static void logs(OpenTelemetry otel) {
    OpenTelemetryAppender appender = new OpenTelemetryAppender();
    LoggerContext logs = (LoggerContext) LoggerFactory.getILoggerFactory();
    appender.setContext(logs);
    appender.setOpenTelemetry(otel);
    appender.start();
    logs.getLogger("ROOT").addAppender(appender);
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public static void main(String[] args) throws Exception {
    boolean anthropic = args[1].equals("anthropic");
    String records = String.valueOf(System.getenv("FILTER") == null);
    SpringApplication app = new SpringApplication(SpringAi.class);
    app.setDefaultProperties(Map.ofEntries(
        Map.entry("spring.main.web-application-type", "none"), Map.entry("spring.application.name", "spring-agent"), Map.entry("spring.ai.model.chat", args[1]),
        Map.entry("spring.ai.model.embedding", "none"), Map.entry("spring.ai.model.image", "none"), Map.entry("spring.ai.model.moderation", "none"),
        Map.entry("spring.ai.model.audio.speech", "none"), Map.entry("spring.ai.model.audio.transcription", "none"),
        Map.entry("spring.ai.openai.api-key", "k"), Map.entry("spring.ai.openai.base-url", Recorder.URL + (args[0].startsWith("2") ? "/v1" : "")),
        Map.entry("spring.ai.anthropic.api-key", "k"), Map.entry("spring.ai.anthropic.base-url", Recorder.URL), Map.entry("spring.ai.retry.max-attempts", "1"),
        Map.entry("spring.ai." + args[1] + ".chat.options.model", anthropic ? "claude-sonnet-4-5" : "gpt-4o-mini"),
        Map.entry("spring.ai.chat.observations.log-prompt", records), Map.entry("spring.ai.chat.observations.log-completion", records),
        Map.entry("spring.ai.chat.client.observations.log-prompt", records), Map.entry("spring.ai.tools.observations.include-content", System.getenv().getOrDefault("TOOL_CONTENT", "true")),
        Map.entry("management.tracing.sampling.probability", "1"),
        Map.entry("management.otlp.tracing.endpoint", Recorder.URL + "/v1/traces"), Map.entry("management.otlp.logging.endpoint", Recorder.URL + "/v1/logs"),
        Map.entry("management.opentelemetry.tracing.export.otlp.endpoint", Recorder.URL + "/v1/traces"),
        Map.entry("management.opentelemetry.logging.export.otlp.endpoint", Recorder.URL + "/v1/logs"),
        Map.entry("management.otlp.metrics.export.enabled", "false")));
    ConfigurableApplicationContext context = app.run();
    Around.otel = context.getBean(OpenTelemetry.class);
    logs(Around.otel);
    Recorder.run("spring-ai-" + args[0] + "-" + args[1], anthropic ? "claude-sonnet-4-5" : "gpt-4o-mini", List.of(args).subList(2, args.length), task -> {
      ChatClient.Builder builder = context.getBean(ChatClient.Builder.class);
      List<Message> history = new ArrayList<>();
      task.history().forEach(m -> history.add(m.role().equals("user") ? new UserMessage(m.content()) : new AssistantMessage(m.content())));
      var prompt = builder.clone().build().prompt().system(task.system()).messages(history).user(task.user()).toolCallbacks(tools(builder, task.tools(), task.sub()));
      return task.stream() ? String.join("", prompt.stream().content().collectList().block()) : prompt.call().content();
    }, () -> {
      pause(500); // the observation of a stream ends after its last element has been handed over
      context.getBean(SdkTracerProvider.class).forceFlush().join(10, TimeUnit.SECONDS);
      context.getBean(SdkLoggerProvider.class).forceFlush().join(10, TimeUnit.SECONDS);
    });
    context.close();
  }
}
