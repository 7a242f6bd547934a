/**
 * The `sql` tag, and the type of a verb. In both dialects `?` stands for a parameter, so no literal
 * may contain a `?`. The PostgreSQL driver numbers the parameters.
 */

export type Param = string | number | null | Uint8Array
export type Row = Readonly<Record<string, unknown>>

export class Sql {
  readonly text: string
  readonly params: readonly Param[]

  constructor(text: string, params: readonly Param[]) {
    this.text = text
    this.params = params
  }
}

/**
 * A store verb: yields statements, is sent their rows. The SQLite driver runs it to its end
 * without a pause, the PostgreSQL driver awaits each yield. Drivers take a function that makes the
 * generator, so that a retry starts from the beginning.
 */
export type Verb<T> = Generator<Sql, T, readonly Row[]>

export function sql(parts: TemplateStringsArray, ...values: readonly (Param | Sql)[]): Sql {
  let text = parts[0] ?? ''
  const params: Param[] = []
  values.forEach((value, i) => {
    if (value instanceof Sql) {
      text += value.text
      params.push(...value.params)
    } else {
      text += '?'
      params.push(value)
    }
    text += parts[i + 1] ?? ''
  })
  return new Sql(text, params)
}

/** A fragment of fixed text: names of columns and tables, never anything from outside. */
export const raw = (text: string): Sql => new Sql(text, [])

export function join(parts: readonly (Sql | Param)[], separator = ', '): Sql {
  const texts: string[] = []
  const params: Param[] = []
  for (const part of parts) {
    if (part instanceof Sql) {
      texts.push(part.text)
      params.push(...part.params)
    } else {
      texts.push('?')
      params.push(part)
    }
  }
  return new Sql(texts.join(separator), params)
}

/** `(a, b), (c, d)` for VALUES lists and row-value IN. All rows are equally long. */
export function tuples(rows: readonly (readonly Param[])[]): Sql {
  const tuple = `(${listOf('?', rows[0]?.length ?? 0)})`
  return new Sql(listOf(tuple, rows.length), rows.flat())
}

const listOf = (item: string, count: number): string =>
  item + `, ${item}`.repeat(Math.max(0, count - 1))

/**
 * Splits items into pieces whose sizes are powers of two. Each different number of rows needs
 * another prepared statement in each connection. This way batches of any size need only seven.
 */
export function inPieces<T>(items: readonly T[]): readonly (readonly T[])[] {
  const pieces: (readonly T[])[] = []
  for (let start = 0; start < items.length;) {
    const size = powerOfTwoWithin(items.length - start)
    pieces.push(items.slice(start, start + size))
    start += size
  }
  return pieces
}

const pieceMax = 64

function powerOfTwoWithin(count: number): number {
  return Math.min(pieceMax, 2 ** Math.floor(Math.log2(count)))
}

/** How many of `count` fill whole pieces of the largest size, or one smaller piece. */
export function wholePieces(count: number): number {
  return count >= pieceMax ? count - (count % pieceMax) : powerOfTwoWithin(count)
}

/** For lists that are only compared with. The last item is repeated up to a power of two. */
export function padded<T>(items: readonly T[]): readonly T[] {
  const last = items.at(-1)
  if (last === undefined) return items
  const size = 2 ** Math.ceil(Math.log2(items.length))
  return [...items, ...Array.from({ length: size - items.length }, () => last)]
}
