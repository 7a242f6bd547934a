/**
 * The `sql` tag, and the type of a verb. In both dialects `?` stands for a parameter, so no literal
 * may contain a `?`. The PostgreSQL driver numbers the parameters.
 */

export type Param = string | number | null | Uint8Array
export type Row = Readonly<Record<string, unknown>>

/**
 * What a driver answers: rows by column name; only the values of each row, in order, which is
 * faster; or one row, `changed`, with the number of rows that were written.
 */
export type AnswerForm = 'rows' | 'values' | 'count'

export class Sql {
  readonly text: string
  readonly params: readonly Param[]
  readonly answer: AnswerForm

  constructor(text: string, params: readonly Param[], answer: AnswerForm = 'rows') {
    this.text = text
    this.params = params
    this.answer = answer
  }
}

/** Long texts that are needed often. There are few: each insert in a few sizes. */
const valuesTexts = new Map<string, string>()

/**
 * Inserts any number of rows, in order. Each database has its own fastest form: SQLite gets the
 * values in `pieces`, PostgreSQL all rows as one text. `rest` follows the rows.
 */
export class InsertRows extends Sql {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Param[])[]
  readonly rest: Sql

  constructor(
    into: { readonly table: string; readonly columns: readonly string[] },
    rows: readonly (readonly Param[])[],
    rest: Sql = raw(''),
    answer: AnswerForm = 'rows',
  ) {
    super(`INSERT INTO ${into.table} (${into.columns.join(', ')})`, [], answer)
    this.table = into.table
    this.columns = into.columns
    this.rows = rows
    this.rest = rest
  }

  get pieces(): readonly Sql[] {
    const { text, columns, rest, answer } = this
    return inPieces(this.rows).map((piece) => {
      const params: Param[] = []
      for (const row of piece) for (const value of row) params.push(value)
      const key = `${piece.length} ${text} ${rest.text}`
      let whole = valuesTexts.get(key)
      if (whole === undefined) {
        whole = `${text} VALUES ${tupleTexts(columns.length, piece.length)} ${rest.text}`
        valuesTexts.set(key, whole)
      }
      return new Sql(whole, [...params, ...rest.params], answer)
    })
  }

  get json(): string {
    return rowsAsJson(this.columns, this.rows)
  }

  get head(): Sql {
    return raw(this.text)
  }
}

/**
 * Rows as one JSON text: an object with a value per column for each row, without those that are
 * null. Put together from parts, because objects of many different forms take longer. PostgreSQL
 * refuses all rows for half a character in one of them, so that is replaced.
 */
export function rowsAsJson(
  columns: readonly string[],
  rows: readonly (readonly Param[])[],
): string {
  const names = columns.map((column) => `"${column}":`)
  let text = ''
  for (const row of rows) {
    let object = ''
    for (const [i, name] of names.entries()) {
      const value = row[i] ?? null
      if (value === null) continue
      const sent = typeof value === 'string' ? value.toWellFormed() : value
      object += `${object === '' ? '' : ','}${name}${JSON.stringify(sent)}`
    }
    text += `${text === '' ? '' : ','}{${object}}`
  }
  return `[${text}]`
}

/** A write whose rows are only counted: faster than `RETURNING`. */
export function* countChanged({ text, params }: Sql): Verb<number> {
  const [row] = yield new Sql(text, params, 'count')
  return Number(row?.['changed'])
}

/** The values of each row, in the order of the columns. */
export function* selectValues(statement: Sql): Verb<readonly (readonly unknown[])[]> {
  const { text, params } = statement
  const rows = yield statement instanceof InsertRows
    ? new InsertRows(statement, statement.rows, statement.rest, 'values')
    : new Sql(text, params, 'values')
  return rows as unknown as readonly (readonly unknown[])[]
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
  return new Sql(tupleTexts(rows[0]?.length ?? 0, rows.length), rows.flat())
}

const tupleTexts = (columns: number, rows: number): string =>
  listOf(`(${listOf('?', columns)})`, rows)

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
