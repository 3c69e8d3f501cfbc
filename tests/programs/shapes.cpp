// Templates, lambdas, operators, virtual functions, exceptions, constructors, anonymous namespaces.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

struct Point {
    int x, y;
    Point operator+(const Point &other) const { return {x + other.x, y + other.y}; }
    explicit operator bool() const { return x != 0; }
};

class Shape {
  public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const { return "shape"; }
};

template <typename T, int Scale = 2> class Box final : public Shape {
  public:
    Box(T width, T height) : width_(width), height_(height)
    {
        if (width_ < T(0))
            throw std::invalid_argument("width " + std::to_string(width_));
    }
    double area() const override { return double(width_ * height_) * Scale; }
    std::string name() const override { return std::string("box ") + std::to_string(Scale); }

  private:
    T width_, height_;
};

namespace {
template <typename F> auto applied(F function, int times)
{
    int sum = 0;
    for (int index = 0; index < times; ++index)
        sum += function(index);
    return sum;
}

struct Order {
    bool operator()(const Point &a, const Point &b) const { return a.x < b.x; }
};
} // namespace

template <typename... Parts> int total(Parts... parts)
{
    return (0 + ... + parts);
}

__attribute__((noinline)) double sum(const std::vector<std::unique_ptr<Shape>> &all)
{
    double result = 0;
    for (const auto &shape : all)
        result += shape->area() + double(shape->name().size());
    return result;
}

} // namespace shapes

int main(int count, char **)
{
    using namespace shapes;
    std::vector<std::unique_ptr<Shape>> all;
    std::map<std::string, int> counts;
    for (int index = 0; index < 4; ++index) {
        all.push_back(std::make_unique<Box<int>>(index, count));
        all.push_back(std::make_unique<Box<double, 3>>(index, 0.5));
        counts[all.back()->name()]++;
    }
    std::vector<Point> points;
    for (int index = 0; index < 9; ++index)
        points.push_back(Point{index * 7 % 5, index} + Point{count, 1});
    std::sort(points.begin(), points.end(), Order());
    try {
        Box<int> wrong(-count, 1);
    } catch (const std::invalid_argument &error) {
        std::printf("%s\n", error.what());
    }
    int base = count;
    auto squared = [base](int value) { return value * value + base; };
    std::printf("%f %d %d %zu\n", sum(all), applied(squared, 5), total(1, count, 3), counts.size());
    return points.front() ? 0 : 1;
}
