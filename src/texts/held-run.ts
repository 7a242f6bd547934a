/** A run with a held step does not go on by itself, so the log says at once what to do. */
export const heldRunText = (runId: string): string =>
  `A run waits for a person's decision about its step. To see what to do: holdfast why ${runId}`
