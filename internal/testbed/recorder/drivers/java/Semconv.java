// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import java.util.concurrent.Callable;
import java.util.function.Function;

/** Spans by hand as the GenAI semantic conventions describe them. With no OpenTelemetry it only runs what it is given. */
final class Semconv {
  interface Tool {
    String call(String arguments) throws Exception;
  }

  static ObjectNode text(String content) {
    return Recorder.JSON.createObjectNode().put("type", "text").put("content", content);
  }

  static ObjectNode call(String id, String name, String arguments) {
    ObjectNode part = Recorder.JSON.createObjectNode().put("type", "tool_call").put("id", id).put("name", name);
    try {
      part.set("arguments", Recorder.JSON.readTree(arguments));
    } catch (Exception e) {
      part.put("arguments", arguments);
    }
    return part;
  }

  static ObjectNode result(String id, String content) {
    return Recorder.JSON.createObjectNode().put("type", "tool_call_response").put("id", id).put("response", content);
  }

  static ObjectNode message(String role, JsonNode parts) {
    ObjectNode message = Recorder.JSON.createObjectNode().put("role", role);
    message.set("parts", parts.isArray() ? parts : Recorder.JSON.createArrayNode().add(parts));
    return message;
  }

  private static <T> T in(Span span, Callable<T> body) throws Exception {
    try (Scope scope = span.makeCurrent()) {
      return body.call();
    } catch (Exception e) {
      span.recordException(e);
      span.setAttribute("error.type", e.getClass().getName());
      span.setStatus(StatusCode.ERROR, String.valueOf(e.getMessage()));
      throw e;
    } finally {
      span.end();
    }
  }

  private static Span start(OpenTelemetry otel, String operation, String name, SpanKind kind) {
    return otel.getTracer("com.example.agent").spanBuilder(operation + " " + name).setSpanKind(kind).setAttribute("gen_ai.operation.name", operation).startSpan();
  }

  static <T> T model(OpenTelemetry otel, String provider, String model, ArrayNode said, Callable<T> ask, Function<T, ObjectNode> answer) throws Exception {
    Span span = start(otel, "chat", model, SpanKind.CLIENT);
    span.setAttribute("gen_ai.provider.name", provider);
    span.setAttribute("gen_ai.request.model", model);
    span.setAttribute("gen_ai.input.messages", said.toString());
    return in(span, () -> {
      T response = ask.call();
      span.setAttribute("gen_ai.output.messages", Recorder.JSON.createArrayNode().add(answer.apply(response)).toString());
      return response;
    });
  }

  /** The text that the model is told, also of a tool that failed. */
  static String tool(OpenTelemetry otel, String name, String id, String arguments, Tool tool) {
    try {
      if (otel == null) {
        return tool.call(arguments);
      }
      Span span = start(otel, "execute_tool", name, SpanKind.INTERNAL);
      span.setAttribute("gen_ai.tool.name", name);
      span.setAttribute("gen_ai.tool.call.id", id);
      span.setAttribute("gen_ai.tool.call.arguments", arguments);
      return in(span, () -> {
        String result = tool.call(arguments);
        span.setAttribute("gen_ai.tool.call.result", result);
        return result;
      });
    } catch (Exception e) {
      return "Error: " + e.getMessage();
    }
  }

  static String agent(OpenTelemetry otel, String name, String question, Callable<String> run) throws Exception {
    if (otel == null) {
      return run.call();
    }
    Span span = start(otel, "invoke_agent", name, SpanKind.INTERNAL);
    span.setAttribute("gen_ai.agent.name", name);
    return in(span, run);
  }
}
