// Reads requests as JSON lines on the standard input, and answers each with one: what its handler, by the name
// `do`, gives; an error as {broken}.
import { createInterface } from 'node:readline'

export async function serve(handlers) {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    let answer
    try {
      answer = handlers[request.do](request) ?? {}
    } catch (error) {
      answer = { broken: `${error.name}: ${error.message}` }
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
}
