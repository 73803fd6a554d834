// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.model.chat.listener.ChatModelErrorContext;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.listener.ChatModelRequestContext;
import dev.langchain4j.model.chat.listener.ChatModelResponseContext;
import dev.langchain4j.service.tool.ToolExecutor;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import java.util.function.Supplier;

/** A listener as users write it: a span per request to the model, per tool and per question, with the messages as LangChain4j serialises them. */
final class SpanListener implements ChatModelListener {
  private final OpenTelemetry otel;

  SpanListener(OpenTelemetry otel) {
    this.otel = otel;
  }

  @Override
  public void onRequest(ChatModelRequestContext context) {
    Span span = otel.getTracer("com.example.assistant").spanBuilder("chat " + context.chatRequest().modelName()).startSpan();
    span.setAttribute("gen_ai.operation.name", "chat");
    span.setAttribute("gen_ai.system", context.modelProvider().name().toLowerCase());
    span.setAttribute("gen_ai.request.model", context.chatRequest().modelName());
    span.setAttribute("gen_ai.prompt", ChatMessageSerializer.messagesToJson(context.chatRequest().messages()));
    context.attributes().put("span", span);
  }

  @Override
  public void onResponse(ChatModelResponseContext context) {
    Span span = (Span) context.attributes().get("span");
    span.setAttribute("gen_ai.response.model", context.chatResponse().metadata().modelName());
    span.setAttribute("gen_ai.response.id", context.chatResponse().metadata().id());
    if (context.chatResponse().metadata().tokenUsage() != null) {
      span.setAttribute("gen_ai.usage.input_tokens", context.chatResponse().metadata().tokenUsage().inputTokenCount());
      span.setAttribute("gen_ai.usage.output_tokens", context.chatResponse().metadata().tokenUsage().outputTokenCount());
    }
    span.setAttribute("gen_ai.completion", ChatMessageSerializer.messageToJson(context.chatResponse().aiMessage()));
    span.end();
  }

  @Override
  public void onError(ChatModelErrorContext context) {
    Span span = (Span) context.attributes().get("span");
    span.recordException(context.error());
    span.setStatus(StatusCode.ERROR, String.valueOf(context.error().getMessage()));
    span.end();
  }

  static ToolExecutor tool(OpenTelemetry otel, String name, ToolExecutor executor) {
    return (request, memory) -> {
      Span span = otel.getTracer("com.example.assistant").spanBuilder("execute_tool " + name).startSpan();
      span.setAttribute("gen_ai.operation.name", "execute_tool");
      span.setAttribute("gen_ai.tool.name", name);
      span.setAttribute("gen_ai.tool.call.id", request.id());
      span.setAttribute("gen_ai.tool.call.arguments", request.arguments());
      try (Scope scope = span.makeCurrent()) {
        String result = executor.execute(request, memory);
        span.setAttribute("gen_ai.tool.call.result", result);
        return result;
      } catch (RuntimeException e) {
        span.recordException(e);
        span.setStatus(StatusCode.ERROR, String.valueOf(e.getMessage()));
        throw e;
      } finally {
        span.end();
      }
    };
  }

  static String agent(OpenTelemetry otel, String name, String question, Supplier<String> answer) {
    Span span = otel.getTracer("com.example.assistant").spanBuilder("invoke_agent " + name).startSpan();
    span.setAttribute("gen_ai.operation.name", "invoke_agent");
    span.setAttribute("gen_ai.agent.name", name);
    span.setAttribute("input.value", question);
    try (Scope scope = span.makeCurrent()) {
      String said = answer.get();
      span.setAttribute("output.value", said);
      return said;
    } catch (RuntimeException e) {
      span.recordException(e);
      span.setStatus(StatusCode.ERROR, String.valueOf(e.getMessage()));
      throw e;
    } finally {
      span.end();
    }
  }
}
