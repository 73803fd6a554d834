// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.SimpleLogRecordProcessor;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The protocol of the recorder (see its doc.go) for drivers on the JVM. */
public final class Recorder {
  public static final String URL = System.getenv().getOrDefault("RECORDER", "http://127.0.0.1:4900");
  public static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** What a tool throws when the script says that it fails. */
  public static final class ToolError extends RuntimeException {
    ToolError(String message) {
      super(message);
    }
  }

  public record Tool(String name, String description, JsonNode parameters) {
    /** Runs the tool with a JSON object; the result is JSON. */
    public JsonNode call(String arguments) {
      String given = arguments == null || arguments.isEmpty() ? "{}" : arguments;
      try {
        return Around.inside(true, name, given, Recorder::plainText, () -> {
          JsonNode answer = Recorder.call("/tool/" + name, given);
          if (answer.hasNonNull("error")) {
            throw new ToolError(answer.get("error").asText());
          }
          return answer.get("result");
        });
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    /** The result of a tool that returns texts: a text as it is, anything else as JSON. */
    public String text(String arguments) {
      return plainText(call(arguments));
    }

    /** The result of a tool that returns values: maps, lists, texts, numbers. */
    public Object value(String arguments) {
      return JSON.convertValue(call(arguments), Object.class);
    }
  }

  public record Message(String role, String content) {}

  public record Sub(String name, String description, String system, List<Tool> tools) {}

  public record Task(String system, String user, String model, List<Message> history, boolean stream, int maxSteps, List<Tool> tools, Sub sub) {}

  public interface Agent {
    String run(Task task) throws Exception;
  }

  public static JsonNode call(String path, String body) {
    try {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(URL + path)).header("Content-Type", "application/json");
      request = body == null ? request.GET() : request.POST(HttpRequest.BodyPublishers.ofString(body));
      return JSON.readTree(HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString()).body());
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static String plainText(JsonNode result) {
    return result.isTextual() ? result.asText() : result.toString();
  }

  /** An SDK that exports every span and log record when it ends. */
  public static OpenTelemetrySdk openTelemetry() {
    OpenTelemetrySdk made = OpenTelemetrySdk.builder()
        .setTracerProvider(SdkTracerProvider.builder().addSpanProcessor(
            SimpleSpanProcessor.create(OtlpHttpSpanExporter.builder().setEndpoint(URL + "/v1/traces").build())).build())
        .setLoggerProvider(SdkLoggerProvider.builder().addLogRecordProcessor(
            SimpleLogRecordProcessor.create(OtlpHttpLogRecordExporter.builder().setEndpoint(URL + "/v1/logs").build())).build())
        .build();
    Around.otel = made;
    return made;
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static List<Tool> tools(JsonNode list) {
    List<Tool> tools = new ArrayList<>();
    list.forEach(t -> tools.add(new Tool(t.get("name").asText(), t.get("description").asText(), t.get("parameters"))));
    return tools;
  }

  /**
   * Runs all scenarios, or those named, one after another; flush sends what the instrumentation still holds. GROUP in the environment is another name for what is
   * recorded, and STREAM makes the model stream in all scenarios.
   */
  public static void run(String name, String model, List<String> only, Agent agent, Runnable flush) throws Exception {
    String group = System.getenv().getOrDefault("GROUP", name);
    boolean stream = System.getenv("STREAM") != null;
    for (JsonNode scenario : call("/scenarios", null)) {
      if (!only.isEmpty() && !only.contains(scenario.asText())) {
        continue;
      }
      JsonNode t = call("/begin", JSON.writeValueAsString(Map.of("group", group, "scenario", scenario.asText(), "model", model)));
      List<Message> history = new ArrayList<>();
      t.get("history").forEach(m -> history.add(new Message(m.get("role").asText(), m.get("content").asText())));
      JsonNode s = t.get("sub");
      Sub sub = s == null || s.isNull() ? null
          : new Sub(s.get("name").asText(), s.get("description").asText(), s.get("system").asText(), tools(s.get("tools")));
      Map<String, Object> said = new java.util.HashMap<>();
      try {
        Task task = new Task(t.get("system").asText(), t.get("user").asText(), t.get("model").asText(), history,
            stream || t.get("stream").asBoolean(), t.get("max_steps").asInt(), tools(t.get("tools")), sub);
        said.put("output", Around.inside(false, "assistant", task.user(), output -> output, () -> agent.run(task)));
      } catch (Throwable e) {
        if (System.getenv("VERBOSE") != null) {
          e.printStackTrace();
        }
        said.put("error", e.getClass().getSimpleName() + ": " + e.getMessage());
      }
      flush.run();
      JsonNode counted = call("/end", JSON.writeValueAsString(said));
      if (System.getenv("QUIET") == null || said.containsKey("error")) System.err.println(scenario.asText() + " " + counted + " " + said.getOrDefault("error", ""));
    }
  }
}
