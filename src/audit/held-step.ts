/** What a person can decide about a held step, with the command for it: for `why` and for lists. */

export interface HeldStepChoice {
  /** Without a full stop. */
  readonly text: string
  readonly command: string
}

/** `key`: what the other system knows the step by, if the program gave it that. */
export function heldStepChoices(
  runId: string,
  { name, key }: { readonly name: string; readonly key: string },
): readonly HeldStepChoice[] {
  // A name may begin with a hyphen, which would be read as a flag.
  const command = (verb: string, ...flags: readonly string[]): string =>
    (name.startsWith('-')
      ? ['holdfast runs step', verb, ...flags, '--', runId, name]
      : ['holdfast runs step', verb, runId, name, ...flags]
    ).join(' ')
  return [
    {
      text:
        `Find out whether the step ${name} was done. Its key is ${key}. If it was done, confirm ` +
        'it (without --result, the run gets null)',
      command: command('confirm', '--result JSON'),
    },
    { text: 'If it was not done, repeat it', command: command('repeat') },
    { text: 'If it must not be repeated, let it fail', command: command('fail') },
  ]
}
