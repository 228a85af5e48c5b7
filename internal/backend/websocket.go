package backend

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
)

// echoWebSocket sends each message back as it came, until the client closes or the
// server stops.
func echoWebSocket(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = connection.CloseNow() }()
	connection.SetReadLimit(-1)
	for err == nil {
		err = echoMessage(r.Context(), connection)
	}
}

func echoMessage(ctx context.Context, connection *websocket.Conn) error {
	kind, message, err := connection.Read(ctx)
	if err != nil {
		return err
	}
	return connection.Write(ctx, kind, message)
}
