/** A number that must not be too large, and the lines that show such numbers. */
export interface Limit {
  readonly what: string
  readonly value: number
  readonly unit: string
  /** The value must be below this. Null: it is only shown. */
  readonly bound: number | null
}

export const isWithin = ({ value, bound }: Limit): boolean => bound === null || value < bound

export function renderLimits(limits: readonly Limit[]): string {
  const width = Math.max(...limits.map(({ what }) => what.length))
  return limits
    .map((limit) => {
      const { what, value, unit, bound } = limit
      const shown = `${what.padEnd(width)}  ${value.toFixed(2).padStart(8)} ${unit}`
      if (bound === null) return shown
      return `${shown.padEnd(width + 16)} < ${bound}  ${isWithin(limit) ? 'ok' : 'MISSED'}`
    })
    .join('\n')
}
