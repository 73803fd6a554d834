"""Runs the evaluation APIs of the SDKs against an exporter that keeps OTLP/JSON lines."""
import json, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.trace import Link
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry._logs import LogRecord, SeverityNumber
from openinference.instrumentation import Annotation, get_annotation_attributes, get_evaluation_attributes, TracerProvider as OITracerProvider

out = open(sys.argv[1], "w")

def hexed(o):
    import base64
    if isinstance(o, dict):
        return {k: base64.b64decode(v).hex() if k in ("traceId", "spanId", "parentSpanId") else hexed(v) for k, v in o.items()}
    return [hexed(x) for x in o] if isinstance(o, list) else o

class Spans(SpanExporter):
    def export(self, spans):
        out.write(json.dumps(hexed(MessageToDict(encode_spans(spans), use_integers_for_enums=True))) + "\n"); return SpanExportResult.SUCCESS
class Logs(LogRecordExporter):
    def export(self, batch):
        out.write(json.dumps(hexed(MessageToDict(encode_logs(batch), use_integers_for_enums=True))) + "\n"); return LogRecordExportResult.SUCCESS
    def shutdown(self): pass
    def force_flush(self, timeout_millis=0): return True

resource = Resource({"service.name": "scout"})
provider = OITracerProvider(resource=resource)
provider.add_span_processor(SimpleSpanProcessor(Spans()))
logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(SimpleLogRecordProcessor(Logs()))
tracer = provider.get_tracer("openinference.instrumentation.example")

with tracer.start_as_current_span("helper", openinference_span_kind="agent") as agent:
    agent.set_input("How many SKU-7?")
    agent.set_attributes({"session.id": "s-1"})
    with tracer.start_as_current_span("ChatCompletion", openinference_span_kind="llm") as model:
        model.set_attributes({
            "llm.model_name": "gpt-4o",
            "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "How many SKU-7?",
            "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "There are 98.",
        })
        model.set_attributes(get_annotation_attributes(annotations=[
            Annotation(name="hallucination", score=1, label="hallucinated", explanation="The store has 99.", annotator_kind="LLM", identifier="judge-v2", metadata={"rubric": 2})]))
    agent.set_attributes(get_evaluation_attributes(evaluations=[Annotation(name="correctness", score=0.25, annotator_kind="CODE")], scope="trace"))
    agent.set_attributes(get_annotation_attributes(annotations=[Annotation(name="patience", label="lost", annotator_kind="HUMAN")], scope="session"))
    agent.set_output("There are 98.")

# later, in traces of their own
with trace.use_span(trace.INVALID_SPAN):
    with tracer.start_as_current_span("tone evaluation", openinference_span_kind="evaluator", links=[Link(model.get_span_context())]) as span:
        span.set_attributes(get_evaluation_attributes(evaluations=[Annotation(name="tone", label="rude", annotator_kind="HUMAN")]))
    with tracer.start_as_current_span("trace evaluation", openinference_span_kind="evaluator", links=[Link(agent.get_span_context())]) as span:
        span.set_attributes(get_annotation_attributes(annotations=[Annotation(name="thumbs", score=0, annotator_kind="HUMAN", identifier="user-7")], scope="trace"))
    with tracer.start_as_current_span("relevance evaluation", openinference_span_kind="evaluator", links=[Link(model.get_span_context())]) as span:
        span.add_event("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": 0.5})

context = trace.set_span_in_context(trace.NonRecordingSpan(model.get_span_context()))
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as g
logs.get_logger("opentelemetry.util.genai.evals").emit(LogRecord(timestamp=1790000000000000000, context=context, event_name="gen_ai.evaluation.result", severity_number=SeverityNumber.INFO, attributes={
    g.GEN_AI_EVALUATION_NAME: "Groundedness", g.GEN_AI_EVALUATION_SCORE_VALUE: 0.75, g.GEN_AI_EVALUATION_SCORE_LABEL: "pass", g.GEN_AI_EVALUATION_EXPLANATION: "cites the store"}))
