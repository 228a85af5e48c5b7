package modelserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answer is one completion on its way to the client, whole or as a stream.
type answer struct {
	server  *Server
	request *chatRequest
	id      string
	created int64
	fault   *fault // nil = none
	pace    pace
}

// usage is what the request cost, in tokens.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

func (a *answer) usage() usage {
	prompt, completion := a.request.promptTokens(), a.request.tokens()
	return usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
}

// whole sends the answer in one piece, headers included, when it is complete.
func (a *answer) whole(w http.ResponseWriter, r *http.Request) {
	var text strings.Builder
	for i := range a.request.tokens() {
		if err := a.wait(r.Context(), i); err != nil {
			return
		}
		text.WriteString(word(i))
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"id": a.id, "object": "chat.completion", "created": a.created, "model": a.server.options.Model,
		"choices": []any{map[string]any{
			"index":         0,
			"message":       map[string]any{"role": "assistant", "content": strings.TrimSpace(text.String())},
			"finish_reason": "stop",
		}},
		"usage": a.usage(),
	})
}

// stream sends the headers at once, as many model servers do, and then one event
// for each token.
func (a *answer) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	for i := range a.request.tokens() {
		if err := a.wait(r.Context(), i); err != nil {
			return
		}
		delta := map[string]any{"content": word(i)}
		if i == 0 {
			delta["role"] = "assistant"
		}
		if err := a.event(w, delta, nil); err != nil {
			return
		}
	}
	if err := a.event(w, map[string]any{}, "stop"); err != nil {
		return
	}
	if a.request.StreamOptions.IncludeUsage {
		if err := a.send(w, map[string]any{"choices": []any{}, "usage": a.usage()}); err != nil {
			return
		}
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// wait returns when the token is there, the first one being 0.
func (a *answer) wait(ctx context.Context, token int) error {
	if a.fault.holds(token, a.request.Stream) {
		if err := a.fault.wait(ctx); err != nil {
			return err
		}
	}
	if token == 0 {
		return sleep(ctx, a.pace.firstToken)
	}
	return sleep(ctx, a.pace.perToken)
}

func (a *answer) event(w http.ResponseWriter, delta map[string]any, finishReason any) error {
	return a.send(w, map[string]any{
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finishReason}},
	})
}

func (a *answer) send(w http.ResponseWriter, chunk map[string]any) error {
	chunk["id"], chunk["object"] = a.id, "chat.completion.chunk"
	chunk["created"], chunk["model"] = a.created, a.server.options.Model
	data, err := json.Marshal(chunk)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
