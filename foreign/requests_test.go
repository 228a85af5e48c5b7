package foreign

import (
	"strconv"

	"endpoint-breaker/internal/wasmhost"
)

const question = `{"model":"qwen-alias","messages":[{"role":"user","content":"my mail is ann@example.com"}]}`

const streamQuestion = `{"model":"qwen-alias","stream":true,"messages":[{"role":"user","content":"hello"}]}`

func with(base wasmhost.Headers, more ...[2]string) wasmhost.Headers {
	return append(append(wasmhost.Headers{}, base...), more...)
}

// get is a request without a body.
func get(more ...[2]string) request {
	return request{headers: with(wasmhost.Headers{
		{":method", "GET"},
		{":scheme", "http"},
		{":authority", "llm.example"},
		{":path", "/v1/models"},
		{"x-request-id", "1"},
	}, more...)}
}

// chat is a chat completion.
func chat(body string, more ...[2]string) request {
	return request{headers: with(wasmhost.Headers{
		{":method", "POST"},
		{":scheme", "http"},
		{":authority", "llm.example"},
		{":path", "/v1/chat/completions"},
		{"content-type", "application/json"},
		{"content-length", strconv.Itoa(len(body))},
		{"x-request-id", "2"},
	}, more...), body: body}
}

// completion is the answer to a chat completion.
func completion() response {
	return response{
		headers: wasmhost.Headers{{":status", "200"}, {"content-type", "application/json"}},
		chunks: []string{
			`{"id":"1","object":"chat.completion","model":"qwen2.5-7b","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],`,
			`"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`,
		},
	}
}

// events is the same as a stream.
func events() response {
	return response{
		headers: wasmhost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}},
		chunks: []string{
			"data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"qwen2.5-7b\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"hi\"}}]}\n\n",
			"data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"qwen2.5-7b\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,\"total_tokens\":12}}\n\n",
			"data: [DONE]\n\n",
			"",
		},
	}
}

// list is the answer to get.
func list() response {
	return response{
		headers: wasmhost.Headers{{":status", "200"}, {"content-type", "application/json"}},
		chunks:  []string{`{"object":"list","data":[]}`},
	}
}
