package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	defaultMaxTokens = 16
	maxRequestBytes  = 16 << 20
)

type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	MaxTokens     *int `json:"max_tokens"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (r *chatRequest) tokens() int {
	if r.MaxTokens == nil {
		return defaultMaxTokens
	}
	return *r.MaxTokens
}

// promptTokens is the usual rule of thumb, four bytes to a token.
func (r *chatRequest) promptTokens() int {
	bytes := 0
	for _, m := range r.Messages {
		bytes += len(m.Content)
	}
	return (bytes + 3) / 4
}

func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) {
	s.arrived()
	// Taken before the body is read: what counts is when the request arrived.
	fault := s.health.now()
	request, problem := s.parse(w, r)
	if problem != nil {
		writeError(w, problem)
		return
	}
	answer := &answer{
		server:  s,
		request: request,
		id:      "chatcmpl-" + s.options.Name + "-" + strconv.FormatInt(time.Now().UnixNano(), 36),
		created: time.Now().Unix(),
		fault:   fault,
		pace:    s.paces.next(request.promptTokens()),
	}
	if request.Stream {
		answer.stream(w, r)
		return
	}
	answer.whole(w, r)
}

func (s *Server) parse(w http.ResponseWriter, r *http.Request) (*chatRequest, *apiError) {
	var request chatRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err := decoder.Decode(&request); err != nil {
		return nil, invalidRequest("the body is not a chat completion request: " + err.Error())
	}
	if len(request.Messages) == 0 {
		return nil, invalidRequest("messages: at least one is needed")
	}
	if request.tokens() < 1 {
		return nil, invalidRequest(fmt.Sprintf("max_tokens: %d given, at least 1 is needed", request.tokens()))
	}
	if request.Model != "" && request.Model != s.options.Model {
		return nil, &apiError{
			status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
			Message: fmt.Sprintf("the model %q does not exist, %q does", request.Model, s.options.Model),
		}
	}
	return &request, nil
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": s.options.Model, "object": "model", "owned_by": s.options.Name}},
	})
}

// healthCheck says "fine" whatever the fault: the fault that health checks do not
// see is the one this server is for.
func (s *Server) healthCheck(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
}

// apiError is the error shape of the OpenAI interface.
type apiError struct {
	status  int
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
}

func invalidRequest(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, Type: "invalid_request_error", Message: message}
}

func writeError(w http.ResponseWriter, e *apiError) {
	writeJSON(w, e.status, map[string]any{"error": e})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil { // only our own types are written
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left hears nothing
}

// word is the i-th word of what the model says, over and over.
func word(i int) string {
	words := [...]string{"slow", "is", "better", "than", "down", "so", "move", "only", "what", "somebody", "healthy", "can", "take"}
	return words[i%len(words)] + " "
}
