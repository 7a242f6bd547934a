/**
 * What a person sees. Answers go to standard output, everything else to standard error, so that
 * the output of a command can be piped on.
 */
export interface Terminal {
  out(text: string): void
  err(text: string): void
}

export function streamTerminal(
  stdout: NodeJS.WritableStream,
  stderr: NodeJS.WritableStream,
): Terminal {
  // A reader that has seen enough (`| head`) is no failure of ours.
  stdout.on('error', ignoreClosedPipe)
  stderr.on('error', ignoreClosedPipe)
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
  }
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
