/** The result of a step as JSON text, within its limits. */
import { stepResultBytesMax } from '../../domain/step.ts'

export class BadStepResult extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Throws a BadStepResult. */
export function resultText(value: unknown): string {
  const text = jsonOf(value)
  const bytes = Buffer.byteLength(text)
  if (bytes <= stepResultBytesMax) return text
  throw new BadStepResult(
    'step_result_too_large',
    `its result has ${bytes} bytes as JSON, and at most ${stepResultBytesMax} (256 KB) are kept. ` +
      'Store it elsewhere and return where it is',
  )
}

function jsonOf(value: unknown): string {
  try {
    // A function that returns nothing has the result null.
    const text = JSON.stringify(value ?? null) as string | undefined
    if (text !== undefined) return text
  } catch {
    // A BigInt, or an object that contains itself.
  }
  throw new BadStepResult(
    'step_result_not_json',
    'its result cannot be written as JSON. Return plain objects, lists, texts and numbers',
  )
}
