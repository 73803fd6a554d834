// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command eino runs Eino with the handler of its callbacks for APMPlus: eino react|adk [SCENARIO ...].
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/cloudwego/eino-ext/callbacks/apmplus"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"drivers/recorder"
)

// bridge takes OTLP over gRPC, all that the handler sends, and hands it over as HTTP.
type bridge struct {
	collector.UnimplementedTraceServiceServer
}

func (bridge) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	doc, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	response, err := http.Post(recorder.URL+"/v1/traces", "application/x-protobuf", bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	return &collector.ExportTraceServiceResponse{}, response.Body.Close()
}

type scripted struct {
	name, description string
	parameters        json.RawMessage
	body              func(ctx context.Context, arguments string) (string, error)
}

func (s scripted) Info(context.Context) (*schema.ToolInfo, error) {
	var parameters jsonschema.Schema
	err := json.Unmarshal(s.parameters, &parameters)
	return &schema.ToolInfo{Name: s.name, Desc: s.description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&parameters)}, err
}

func (s scripted) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return s.body(ctx, arguments)
}

func tools(of []recorder.Tool) (all []tool.BaseTool) {
	for _, t := range of {
		all = append(all, scripted{t.Name, t.Description, t.Parameters, func(ctx context.Context, arguments string) (string, error) {
			text, err := t.Text(ctx, []byte(arguments))
			if err != nil {
				return "Error: " + err.Error(), nil // an error of a tool ends the run in Eino: what its examples do
			}
			return text, nil
		}})
	}
	return all
}

func run(ctx context.Context, task recorder.Task) (string, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: recorder.URL + "/v1", APIKey: "k", Model: task.Model})
	if err != nil {
		return "", err
	}
	unknown := func(_ context.Context, name, _ string) (string, error) { return "", fmt.Errorf("no tool %s", name) }
	history := func(user string, before []recorder.Message) (said []*schema.Message) {
		for _, m := range before {
			said = append(said, &schema.Message{Role: schema.RoleType(m.Role), Content: m.Content})
		}
		return append(said, schema.UserMessage(user))
	}
	if os.Args[1] == "adk" {
		made := func(name, description, system string, all []tool.BaseTool) adk.Agent {
			agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: name, Description: description, Instruction: system, Model: model,
				ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: all, UnknownToolsHandler: unknown}}, MaxIterations: task.MaxSteps})
			if err != nil {
				panic(err)
			}
			return agent
		}
		all := tools(task.Tools)
		if sub := task.Sub; sub != nil {
			parameters := schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"question": {Type: schema.String, Required: true}})
			all = append(all, adk.NewAgentTool(ctx, made(sub.Name, sub.Description, sub.System, tools(sub.Tools)), adk.WithAgentInputSchema(parameters)))
		}
		events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: made("assistant", "assistant", task.System, all), EnableStreaming: task.Stream}).Run(ctx, history(task.User, task.History))
		said := ""
		for {
			event, more := events.Next()
			if !more {
				return said, nil
			}
			if event.Err != nil {
				return "", event.Err
			}
			if event.Output != nil && event.Output.MessageOutput != nil {
				message, err := event.Output.MessageOutput.GetMessage()
				if err != nil {
					return "", err
				}
				if message.Role == schema.Assistant {
					said = message.Content
				}
			}
		}
	}
	made := func(system string, all []tool.BaseTool) *react.Agent {
		agent, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: model, ToolsConfig: compose.ToolsNodeConfig{Tools: all, UnknownToolsHandler: unknown},
			MessageModifier: func(_ context.Context, said []*schema.Message) []*schema.Message {
				return append([]*schema.Message{schema.SystemMessage(system)}, said...)
			}, MaxStep: max(24, 2*task.MaxSteps)})
		if err != nil {
			panic(err)
		}
		return agent
	}
	all := tools(task.Tools)
	if sub := task.Sub; sub != nil {
		inner := made(sub.System, tools(sub.Tools))
		question := json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`)
		all = append(all, scripted{sub.Name, sub.Description, question, func(ctx context.Context, arguments string) (string, error) {
			var input struct{ Question string }
			if err := json.Unmarshal([]byte(arguments), &input); err != nil {
				return "", err
			}
			answer, err := inner.Generate(ctx, history(input.Question, nil))
			if err != nil {
				return "", err
			}
			return answer.Content, nil
		}})
	}
	agent := made(task.System, all)
	if task.Stream {
		stream, err := agent.Stream(ctx, history(task.User, task.History))
		if err != nil {
			return "", err
		}
		whole, err := schema.ConcatMessageStream(stream)
		if err != nil {
			return "", err
		}
		return whole.Content, nil
	}
	answer, err := agent.Generate(ctx, history(task.User, task.History))
	if err != nil {
		return "", err
	}
	return answer.Content, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	collector.RegisterTraceServiceServer(server, bridge{})
	go func() { _ = server.Serve(listener) }()
	handler, stop, err := apmplus.NewApmplusHandler(&apmplus.Config{Host: listener.Addr().String(), AppKey: "k", ServiceName: "eino-agent"})
	if err != nil {
		panic(err)
	}
	callbacks.AppendGlobalHandlers(handler)
	// OTEL_BSP_SCHEDULE_DELAY=100 has the handler's processor, which nobody can reach, send at once
	recorder.Main("eino07-apmplus-"+os.Args[1], "gpt-4o-mini", run, func() { time.Sleep(time.Second) })
	_ = stop(context.Background())
}
